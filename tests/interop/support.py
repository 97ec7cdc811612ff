# SPDX-License-Identifier: Apache-2.0
"""What the suites against other implementations share: the command, the Java server, cases and their report."""
import collections
import json
import os
import re
import subprocess
import tempfile
import time
import traceback
import urllib.parse

import rows

SECONDS_PER_CALL = 300  # nothing here takes a tenth of it; a hang must not hang the suite


class Wrong(Exception):
    """A comparison failed, or a command answered with an error."""


Result = collections.namedtuple("Result", "code out err")


def partition_values(path):
    """"p=a%2Fb/q=c" as the values, joined by '/'."""
    return "/".join(urllib.parse.unquote(part.partition("=")[2]) for part in path.split("/"))


class Pml:
    def __init__(self, path):
        self.path = path

    def run(self, *args, stdin=None):
        done = subprocess.run([self.path, *map(str, args)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=SECONDS_PER_CALL, **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
        return Result(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())

    def start(self, *args, stdin=None):
        return subprocess.Popen([self.path, *map(str, args)], stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def __call__(self, *args, stdin=None):
        """Standard output as lines; any exit code but 0 is Wrong."""
        done = self.run(*args, stdin=stdin)
        if done.code != 0:
            raise Wrong(f"pml {' '.join(map(str, args))[:300]}: exit code {done.code}: {done.err[:1500]}")
        return lines_of(done.out)

    def dump(self, table, *args):
        return self("dump", table, *args)

    def offsets(self, table):
        """(partition values joined by '/', bucket) -> the object that `pml offsets` prints."""
        parsed = [json.loads(line) for line in self("offsets", table, "--format", "json")]
        return {(partition_values(o["partition"]), int(o["bucket"])): o for o in parsed}

    def count(self, table, *args):
        return int(self("count", table, *args)[-1])


class Java:
    """One JVM that answers many commands (PaimonOracle serve)."""

    def __init__(self, command):
        self.log = tempfile.TemporaryFile()
        self.server = subprocess.Popen(command + ["serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def run(self, *args):
        self.server.stdin.write(json.dumps([str(a) for a in args]).encode() + b"\n")
        self.server.stdin.flush()
        head = self.server.stdout.readline().split()
        if len(head) != 2:
            self.log.seek(0)
            raise Wrong("the Java server ended: " + self.log.read()[-2000:].decode("utf-8", "replace"))
        return head[0] == b"ok", self.server.stdout.read(int(head[1]))

    def __call__(self, *args):
        ok, out = self.run(*args)
        if not ok:
            raise Wrong(f"Java {' '.join(map(str, args))[:300]}: {out[:1500].decode('utf-8', 'replace')}")
        return lines_of(out)

    def append(self, table, file, *args):
        """Its JSON reader takes -0 for the whole number 0 and loses the sign; -0.0 keeps it."""
        with open(file, encoding="utf-8", newline="") as f:
            text = re.sub(r'"(?:\\.|[^"\\])*"|(?<=[:,\[])-0(?=[,\]}])', lambda m: "-0.0" if m.group() == "-0" else m.group(), f.read())
        with open(file + ".java", "w", encoding="utf-8", newline="") as f:
            f.write(text)
        return self("append", table, file + ".java", *args)

    def dump(self, table, *args):
        return self("dump", table, *args)

    def inspect(self, table):
        return json.loads("\n".join(self("inspect", table)))

    def close(self):
        self.server.stdin.close()
        try:
            self.server.wait(30)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.server.stdout.close()
        self.log.close()


def lines_of(data):
    return data.decode("utf-8").split("\n")[:-1]


def filter_args(predicate):
    return ["--filter", json.dumps(predicate, ensure_ascii=False, separators=(",", ":"))]


def write_rows(path, lines):
    with open(path, "wb") as f:
        f.write(rows.as_bytes(lines))
    return path


def equal(what, want, got):
    """Both are lists of lines, or any two values."""
    if want == got:
        return
    if isinstance(want, list) and isinstance(got, list) and all(isinstance(x, str) for x in want + got):
        left, right = collections.Counter(want), collections.Counter(got)
        lost, extra = list((left - right).elements()), list((right - left).elements())
        if not lost and not extra:
            raise Wrong(f"{what}: the same rows in another order")
        raise Wrong(f"{what}: of {len(want)} rows {len(lost)} lost, {len(extra)} extra"
                    + "".join(f"\n      lost:  {x[:600]}" for x in lost[:2]) + "".join(f"\n      extra: {x[:600]}" for x in extra[:2]))
    raise Wrong(f"{what}: wanted {str(want)[:800]}\n      got    {str(got)[:800]}")


class Suite:
    """Runs cases, prints one line for each and the summary."""

    def __init__(self, scratch, only=""):
        self.scratch, self.only = scratch, only
        self.passed, self.failed = 0, []

    def folder(self, name):
        path = os.path.join(self.scratch, name.replace(" ", "_").replace("/", "_"))
        os.makedirs(path)
        return path

    def case(self, name, function, *args):
        if self.only not in name:
            return
        start = time.monotonic()
        try:
            function(self.folder(name), *args)
            self.passed += 1
            print(f"ok    {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except Wrong as e:
            self.failed.append(name)
            print(f"WRONG {name}: {e}", flush=True)
        except Exception:  # a mistake of the suite itself, or an answer that it could not parse
            self.failed.append(name)
            print(f"WRONG {name}: {traceback.format_exc()}", flush=True)

    def finish(self):
        for name in self.failed:
            print(f"failed: {name}")
        print(f"{self.passed} passed, {len(self.failed)} failed")
        return 1 if self.failed or self.passed == 0 else 0
