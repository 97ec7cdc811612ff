# SPDX-License-Identifier: Apache-2.0
"""What a bar is made of: runs, figures of them, and the limit."""
import collections


OURS, ARROW, PYPAIMON, RUST = "paimon-live", "plain-arrow", "pypaimon", "pypaimon-rust"
APPEND, SCAN, FILES = "rows", "scan_rows", "files"  # sizes that the command line says
KEYED = "keyed_rows"  # as many as those of the scans
CASES = {APPEND: "append", SCAN: "append", FILES: "files", KEYED: "keys-runs"}  # that make the common tables


class JavaTable(collections.namedtuple("JavaTable", "runs rows buckets")):
    """A primary-key table that Java Paimon writes: so many runs of level 0 with so many rows each, of which half write over rows of the
    runs before. Eight columns, deduplicate, Parquet, everything else by default."""

    def rows_all(self, small):
        return self.runs * (min(self.rows, 20_000) if small else self.rows)

    def folder(self, small):
        return f"merge-{self.runs}-{self.rows_all(small)}-{self.buckets}"

    def words(self, small):
        """Of bench-write of tests/oracle."""
        return ("--rows", str(self.rows_all(small)), "--mode", "pk", "--runs", str(self.runs), "--upsert-percent", "50", "--buckets",
                str(self.buckets), "--write-only")

    def __str__(self):
        return f"the table of {self.runs} runs and {self.buckets} buckets"


class Run(collections.namedtuple("Run", "case count options peer table")):
    """A case of pml-bench or of a peer. count: a number, or the size that says it. table: the common one that it reads, by the size
    that it is made with, or one of Java; None: it makes its own."""

    def rows(self, a):
        if isinstance(self.table, JavaTable):
            return self.table.rows_all(a.small)
        return getattr(a, self.count) if self.counted() else min(self.count, a.rows) if a.small else self.count

    def counted(self):
        return isinstance(self.count, str)

    def name(self):
        of = (self.table.folder(False),) if isinstance(self.table, JavaTable) else (f"{self.count}",)
        return " ".join((self.peer, self.case, *of, *self.options))


def ours(case, count=APPEND, *options, table=None):
    return Run(case, count, options, OURS, table)


def peer(name, case, count=APPEND, table=SCAN):
    return Run(case, count, (), name, table)


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
