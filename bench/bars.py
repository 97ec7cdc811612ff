# SPDX-License-Identifier: Apache-2.0
"""What a bar is made of: runs, figures of them, and the limit."""
import collections


class Run(collections.namedtuple("Run", "case count options peer source")):
    """A case of pml-bench or of a peer. count None: as many rows as the append has. source: over the common table."""

    def rows(self, a):
        return a.rows if self.count is None else min(self.count, a.rows) if a.small else self.count

    def name(self):
        return " ".join((self.peer, self.case, *([f"{self.count}"] if self.count is not None else []), *self.options))


def ours(case, count=None, *options, source=False):
    return Run(case, count, options, "paimon-live", source)


def peer(name, case, count=None):
    return Run(case, count, (), name, True)


class Results:
    def __init__(self):
        self.of = collections.defaultdict(list)

    def add(self, run, result):
        self.of[run].append(result)

    def best(self, run, figure, best=min):
        """The best of all rounds; None: not measured."""
        values = [r[figure] for r in self.of[run] if figure in r]
        return best(values) if values else None


class Bar:
    """value: a function of Results. better: "less" or "more". limit None: only told."""

    def __init__(self, name, limit, unit, runs, value, better="less"):
        self.name, self.limit, self.unit, self.runs, self.better = name, limit, unit, tuple(runs), better
        self._value = value

    def value(self, results):
        try:
            return self._value(results)
        except TypeError:  # one of the figures is None
            return None

    def holds(self, value):
        return self.limit is None or (value <= self.limit if self.better == "less" else value >= self.limit)

    def show(self, value):
        return f"{value:.3g} {self.unit}" if abs(value) < 100 else f"{value:.0f} {self.unit}"

    def bar_text(self):
        return "-" if self.limit is None else ("<= " if self.better == "less" else ">= ") + f"{self.limit:g} {self.unit}"


def figure(name, limit, unit, run, key, factor=1, better="less", best=min):
    """A figure of one run, times a factor."""
    return Bar(name, limit, unit, [run], lambda r: r.best(run, key, best) * factor, better)


def ratio(name, limit, run, other, key="cpu_seconds", better="less"):
    """How many times the figure of the other run."""
    return Bar(name, limit, "x", [run, other], lambda r: r.best(run, key) / r.best(other, key), better)


def rate(name, limit, run, better="more"):
    """Millions of rows for each CPU second."""
    return Bar(name, limit, "M/s", [run], lambda r: r.of[run][0]["rows"] / r.best(run, "cpu_seconds") / 1e6, better)
