# SPDX-License-Identifier: Apache-2.0
"""Random schema changes between random commits of both sides. After each step, and at the end for every snapshot, both must read the
same; where Java cannot read, neither may pml."""
import json
import os
import random

import rows
import support
import tables

STEPS = 24
# Not here: floating-point numbers as texts (JDKs before 19 print some with a digit too many), times of timestamps before 1970 (negative),
# nanoseconds of years that they do not reach.
TARGETS = {
    "BOOLEAN": ["TINYINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(9,3)", "STRING", "VARCHAR(3)", "CHAR(7)"],
    "TINYINT": ["SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,3)", "BOOLEAN", "STRING", "CHAR(5)"],
    "SMALLINT": ["TINYINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(38,10)", "BOOLEAN", "STRING", "VARCHAR(2)"],
    "INT": ["TINYINT", "SMALLINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12,2)", "BOOLEAN", "STRING", "TIMESTAMP(3)"],
    "BIGINT": ["TINYINT", "SMALLINT", "INT", "FLOAT", "DOUBLE", "DECIMAL(20,0)", "DECIMAL(5,1)", "BOOLEAN", "STRING"],
    "FLOAT": ["TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE"],
    "DOUBLE": ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT"],
    "DECIMAL": ["INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38,10)", "DECIMAL(6,1)", "DECIMAL(20,6)", "STRING", "CHAR(4)"],
    "CHAR": ["STRING", "VARCHAR(3)", "CHAR(8)", "BYTES", "BINARY(6)", "INT", "DATE"],
    "STRING": ["VARCHAR(4)", "CHAR(6)", "BYTES", "VARBINARY(5)", "BINARY(5)", "INT", "DOUBLE", "TIMESTAMP(3)"],
    "VARCHAR": ["STRING", "VARCHAR(2)", "CHAR(6)", "BYTES", "DECIMAL(9,2)", "BOOLEAN"],
    "BINARY": ["BYTES", "VARBINARY(3)", "BINARY(9)"],
    "VARBINARY": ["BYTES", "VARBINARY(3)", "BINARY(9)"],
    "BYTES": ["VARBINARY(3)", "BINARY(9)"],
    "DATE": ["STRING", "TIMESTAMP(3)", "TIMESTAMP(6)"],
    "TIME": ["STRING", "TIMESTAMP(0)", "TIMESTAMP(6)"],
    "TIMESTAMP": ["TIMESTAMP(0)", "TIMESTAMP(1)", "TIMESTAMP(3)", "TIMESTAMP(5)", "TIMESTAMP(6)", "STRING", "DATE", "INT", "BIGINT"],
    "ARRAY": ["STRING", "VARCHAR(6)"], "MAP": ["STRING"], "ROW": ["STRING", "CHAR(30)"],
}
NEW = ["INT", "BIGINT", "STRING", "DECIMAL(12,2)", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIME(3)", "BOOLEAN", "FLOAT", "DOUBLE", "SMALLINT", "TINYINT",
       "VARCHAR(9)", "CHAR(5)", "BYTES", "ARRAY<INT>", "MAP<STRING,BIGINT>", "ROW<x INT, y STRING>", "ARRAY<ROW<p INT, q STRING>>",
       "MAP<INT,ROW<u BIGINT, w STRING>>", "ROW<l ARRAY<INT>, r ROW<t DATE, s SMALLINT>>"]


def text_of(t):
    """A type of a schema file as text."""
    if isinstance(t, str):
        return t
    null = " NOT NULL" if t["type"].endswith("NOT NULL") else ""
    root = t["type"].split()[0]
    if root == "ROW":
        return "ROW<" + ", ".join(f"{f['name']} {text_of(f['type'])}" for f in t["fields"]) + ">" + null
    parts = [t["key"], t["value"]] if root == "MAP" else [t["element"]]
    return f"{root}<{','.join(map(text_of, parts))}>" + null


class Evolving:
    floated = frozenset()  # ids of columns that hold, or held in files that are still there, floating-point numbers anywhere

    def __init__(self, folder, pml, java, seed, partition):
        self.folder, self.pml, self.java, self.rnd = folder, pml, java, random.Random(seed)
        self.table, self.steps, self.next, self.names = os.path.join(folder, "t"), 0, 0, 0
        start = tables.schema([self.rnd.choice(NEW) for _ in range(6)], [("p", "INT")] if partition else [])
        self.fixed = {"p": tables.INT_PARTITION} if partition else {}
        java("create", self.table, tables.text(start))

    def schema(self):
        folder = os.path.join(self.table, "schema")
        newest = max(os.listdir(folder), key=lambda n: int(n.split("-")[1]))
        with open(os.path.join(folder, newest), encoding="utf-8") as f:
            return json.load(f)["fields"]

    def columns(self):
        return rows.Columns({"fields": [{"name": f["name"], "type": text_of(f["type"])} for f in self.schema()]}, self.fixed)

    def append(self):
        self.steps += 1
        columns = self.columns()
        saved, columns.fixed["id"] = self.rnd, lambda rnd: str(self.next)
        lines = []
        for _ in range(self.rnd.randrange(1, 9)):
            lines.append(columns.row(saved))
            self.next += 1
        file = support.write_rows(os.path.join(self.folder, f"step{self.steps}.jsonl"), lines)
        if self.rnd.randrange(3) == 0:
            self.pml("load", self.table, file)
        else:
            self.java.append(self.table, file)
        return "an append"

    def paths(self):
        """Every place that a change can name: (path, type), members of rows too."""
        def below(path, t):
            yield path, t
            root = t["type"].split()[0] if isinstance(t, dict) else ""
            if root == "ROW":
                for f in t["fields"]:
                    yield from below(f"{path}.{f['name']}", f["type"])
            elif root == "ARRAY":
                yield from below(f"{path}.element", t["element"])
            elif root == "MAP":
                yield from below(f"{path}.value", t["value"])
        for f in self.schema():
            if f["name"] not in ("id", "p"):
                yield from below(f["name"], f["type"])

    def change(self):
        self.names += 1
        self.floated |= {f["id"] for f in self.schema() if "FLOAT" in json.dumps(f["type"]) or "DOUBLE" in json.dumps(f["type"])}
        places = list(self.paths())
        path, t = self.rnd.choice(places)
        head = path.rpartition(".")[0]
        op = self.rnd.choice(["type"] * 6 + ["add", "add", "drop", "rename", "rename", "move", "readd"])
        if op == "add":
            inner = [p for p, x in places if isinstance(x, dict) and x["type"].startswith("ROW")]
            where = self.rnd.choice(inner) + "." if inner and self.rnd.randrange(2) else ""
            return [{"op": "add", "column": f"{where}n{self.names}", "type": self.rnd.choice(NEW[:16] if where else NEW)}]
        if op == "drop":
            return [{"op": "drop", "column": path}]
        if op == "rename":
            return [{"op": "rename", "column": path, "to": f"r{self.names}"}]
        if op == "move":
            return [{"op": "move", "column": path.split(".")[0], self.rnd.choice(("first", "last")): True}]
        if op == "readd" and not head:
            return [{"op": "drop", "column": path}, {"op": "add", "column": path, "type": self.rnd.choice(NEW)}]
        target = self.rnd.choice(TARGETS.get(rows.Type(text_of(t)).root, ["STRING"]))
        if "CHAR" in target or target == "STRING":
            column = next(f for f in self.schema() if f["name"] == path.split(".")[0])
            if column["id"] in self.floated:
                return [{"op": "rename", "column": path, "to": f"r{self.names}"}]
        return [{"op": "type", "column": path, "type": target}]

    def alter(self):
        change = self.change()
        ok, _ = self.java.run("alter", self.table, json.dumps(change))
        return json.dumps(change) if ok else None

    def same(self, after, *args):
        """The rows that both read; None: neither can."""
        ok, out = self.java.run("dump", self.table, *args)
        done = self.pml.run("dump", self.table, *args)
        what = f"{' '.join(args)} after {after}"
        if not ok and done.code != 0:
            return None
        if not ok or done.code != 0:
            raise support.Wrong(f"{what}: Java {'reads' if ok else 'fails: ' + out[:600].decode()}, pml's exit code is {done.code}: {done.err[:600]}")
        want = support.lines_of(out)
        support.equal(what, want, support.lines_of(done.out))
        return want

    def drop_unreadable(self):
        """Columns that Java cannot read any more."""
        for f in self.schema():
            if self.same("looking for what cannot be read", "--columns", f["name"]) is None:
                self.java("alter", self.table, json.dumps([{"op": "drop", "column": f["name"]}]))


def evolve(folder, pml, java, seed, partition):
    t = Evolving(folder, pml, java, seed, partition)
    for step in range(STEPS):
        after = t.append() if step == 0 or t.rnd.randrange(3) == 0 else t.alter()
        if after is None:
            continue
        lines = t.same(f"step {step}, {after}")
        if lines is None:
            t.drop_unreadable()
            lines = t.same(f"step {step}, columns dropped")
        columns = t.columns()
        for _ in range(3 if lines else 0):
            t.same(f"step {step}, {after}", *support.filter_args(columns.predicate(t.rnd, lines)))
    for name in sorted(os.listdir(os.path.join(t.table, "snapshot"))):
        if name.startswith("snapshot-"):
            t.same("all", "--snapshot", name.split("-")[1])


def add_cases(suite, pml, java, seed):
    for i in range(6):
        suite.case(f"schema changes {i}", evolve, pml, java, seed + i, i % 3 == 2)
