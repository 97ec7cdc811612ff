# SPDX-License-Identifier: Apache-2.0
"""System tables that are reads of the table's rows, conditions on those that are not, and tables that show partitions of another branch:
random tables of Java, read by both."""
import json
import os
import random

import java_random
import rows
import support
import tables

OPS = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
       "ge": lambda a, b: a >= b}


def both(pml, java, table, *args):
    """The rows that both read; None: neither can."""
    ok, out = java.run("dump", table, *args)
    done = pml.run("dump", table, *args)
    what = " ".join(args)
    if not ok and done.code != 0:
        return None
    if not ok or done.code != 0:
        raise support.Wrong(f"{what}: Java {'reads' if ok else 'fails: ' + out[:600].decode()}, pml's exit code is {done.code}: {done.err[:600]}")
    support.equal(what, support.lines_of(out), support.lines_of(done.out))
    return support.lines_of(out)


# ---- row_tracking ----

class Tracked:
    """A table with row tracking: appends, deletes in place, compactions; with data evolution columns written again."""

    def __init__(self, folder, pml, java, seed):
        self.folder, self.pml, self.java, self.rnd = folder, pml, java, random.Random(seed)
        self.table, self.steps, self.rows = os.path.join(folder, "t"), 0, 0
        self.evolves = self.rnd.randrange(2) == 0
        options = {"bucket": "-1", "row-tracking.enabled": "true", "file.format": self.rnd.choice(("parquet", "orc", "avro")),
                   "compaction.min.file-num": "2"}
        if self.evolves:
            options["data-evolution.enabled"] = "true"
        elif self.rnd.randrange(2) == 0:
            options["deletion-vectors.enabled"] = "true"
        for name, values in (("parquet.block.size", ("100", "1000")), ("parquet.page.size", ("50", "300")), ("target-file-size", ("1 kb",)),
                             ("orc.stripe.size", ("200",)), ("read.batch-size", ("3",)), ("source.split.target-size", ("1 kb",)),
                             ("file-index.bitmap.columns", ("v0",)), ("metadata.stats-mode", ("none", "full"))):
            if self.rnd.randrange(4) == 0 and not (self.evolves and name.startswith("file-index")):
                options[name] = self.rnd.choice(values)
        self.partition = [("p", "INT")] if self.rnd.randrange(3) == 0 and not self.evolves else []
        made = tables.schema(["INT", "STRING", "BIGINT"], self.partition, options)
        self.columns = rows.Columns(made, {"p": tables.INT_PARTITION, "v0": lambda rnd: str(rnd.randrange(5))})
        self.options = options
        # Java cannot read ids of Avro files when they stand behind as many columns as the table has.
        self.all = ["--columns", "_ROW_ID,_SEQUENCE_NUMBER,id,v0"] if options["file.format"] == "avro" and not self.evolves else []
        java("create", self.table, tables.text(made))

    def write(self, lines, *args):
        self.steps += 1
        self.java.append(self.table, support.write_rows(os.path.join(self.folder, f"step{self.steps}.jsonl"), lines), *args)

    def append(self):
        n = self.rnd.randrange(1, 40)
        self.write(self.columns.rows(self.rnd, n, self.rows))
        self.rows += n

    def write_again(self):
        """Other values of one column of all rows of a file."""
        files = [f for f in self.java.inspect(self.table)["live"] if f["firstRowId"] is not None]
        if not files:
            return
        f = self.rnd.choice(files)
        name = self.rnd.choice(self.columns.names[1:])
        self.write(self.columns.project(self.columns.rows(self.rnd, f["rows"]), [name]), "--columns", name, "--first-row-id", str(f["firstRowId"]))

    def step(self):
        choice = self.rnd.randrange(10)
        if self.evolves and choice < 4:
            self.write_again()
        elif "deletion-vectors.enabled" in self.options and choice < 4:
            self.java("delete-where", self.table, json.dumps({"eq": ["v0", self.rnd.randrange(5)]}))
        elif choice == 4:
            self.java.run("compact", self.table)
        else:
            self.append()

    def same(self, *args):
        return both(self.pml, self.java, self.table, "--system", "row_tracking", *args)

    def check(self):
        lines = self.same(*self.all)
        if not self.evolves:  # Java plans without files that have no wanted column, and takes the number of those that are left
            self.same("--columns", "_SEQUENCE_NUMBER,id")
        self.same("--columns", "_ROW_ID")
        if not lines:
            return
        for _ in range(3):
            cells = rows.cells_of(self.rnd.choice(lines))
            column = self.rnd.choice(("_ROW_ID", "_SEQUENCE_NUMBER", "id", "v0"))
            if cells[column] == "null":
                continue
            op = self.rnd.choice(list(OPS))
            condition = {op: [column, json.loads(cells[column])]}
            want = [x for x in lines if json.loads(x)[column] is not None and OPS[op](json.loads(x)[column], condition[op][1])]
            got = self.pml.dump(self.table, "--system", "row_tracking", *self.all, *support.filter_args(condition))
            support.equal(f"row_tracking where {condition}", want, got)
            got = self.pml.dump(self.table, "--system", "row_tracking", "--columns", "_ROW_ID", *support.filter_args(condition))
            support.equal(f"_ROW_ID where {condition}", rows.in_order(self.columns.project(want, ["_ROW_ID"])), got)


def row_tracking(folder, pml, java, seed):
    t = Tracked(folder, pml, java, seed)
    try:
        for _ in range(6):
            t.step()
            t.check()
        for name in sorted(os.listdir(os.path.join(t.table, "snapshot"))):
            if name.startswith("snapshot-"):
                t.same(*t.all, "--option", f"scan.snapshot-id={name.split('-')[1]}")
    except support.Wrong as e:
        raise support.Wrong(f"{e}\n      options: {json.dumps(t.options)}") from e


# ---- audit_log and binlog ----

class Audited(java_random.RandomTable):
    def plain(self, line):
        """In binlog a column is an array of its one value."""
        cells = rows.cells_of(line)
        for name in self.unordered & set(cells) if self.packed else ():
            value = rows.split_values(cells[name])[0]
            cells[name] = value
        return super().plain("{" + ",".join(f"{rows.quote(n)}:{c}" for n, c in cells.items()) + "}")

    def audit(self):
        for self.packed in (False, True):
            name = "binlog" if self.packed else "audit_log"
            lines = self.same("--system", name)
            if self.engine != "append":
                self.same("--system", name, "--option", "table-read.sequence-number.enabled=true")
            if lines is None or self.unordered:
                continue
            kind = self.rnd.choice(("+I", "+U", "-D"))
            done = self.pml.run("dump", self.table, "--system", name, *support.filter_args({"eq": ["rowkind", kind]}))
            if done.code == 0:
                support.equal(f"{name} of {kind}", [x for x in lines if f'"rowkind":"{kind}"' in x], support.lines_of(done.out))


def audited(folder, pml, java, seed):
    t = Audited(folder, pml, java, seed)
    t.packed = False
    try:
        for step in range(5):
            if step == 0:
                t.append()
            else:
                t.step(None)
            t.audit()
    except support.Wrong as e:
        raise support.Wrong(f"{e}\n      options: {json.dumps(t.options)}") from e


# ---- conditions on tables of metadata ----

def metadata(folder, pml, java, seed):
    """What Java's engines leave of all its rows; Java itself skips some of those that cannot match at most."""
    rnd, t = random.Random(seed), java_random.RandomTable(folder, pml, java, seed)
    for step in range(6):
        t.append() if step == 0 else t.step(None)
    for name in ("snapshots", "schemas", "options", "files", "file_key_ranges", "manifests", "partitions", "buckets", "table_indexes"):
        all_rows = java.dump(t.table, "--system", name)
        for _ in range(4 if all_rows else 0):
            cells = json.loads(rnd.choice(all_rows))
            column = rnd.choice([c for c in cells if c != "_kind" and not isinstance(cells[c], (list, dict))])
            value, shown = cells[column], pml.dump(t.table, "--system", name)
            if all_rows != shown:
                break  # bounds of binary columns are addresses in Java
            if value is None:
                condition, keep = {"isnull": [column]}, lambda x: x is None
            else:
                op = rnd.choice(list(OPS) if isinstance(value, int) else ["eq", "ne"])
                condition, keep = {op: [column, value]}, lambda x, op=op, value=value: x is not None and OPS[op](x, value)
            want = [x for x in all_rows if keep(json.loads(x)[column])]
            support.equal(f"{name} where {condition}", want, pml.dump(t.table, "--system", name, *support.filter_args(condition)))
            ok, out = java.run("dump", t.table, "--system", name, *support.filter_args(condition))
            # Java takes "{}" apart into one empty value, which is one more than a table without partitions has, and shows nothing
            if ok and value != "{}" and not set(want) <= set(support.lines_of(out)):
                raise support.Wrong(f"{name} where {condition}: Java leaves out rows that match")


# ---- two branches ----

def branches(folder, pml, java, seed):
    rnd, table = random.Random(seed), os.path.join(folder, "t")
    keyed = rnd.randrange(2) == 0
    options = {"bucket": rnd.choice(("1", "2")) if keyed else "-1", "file.format": rnd.choice(("parquet", "orc", "avro"))}
    if keyed and rnd.randrange(2) == 0:
        options.update({"deletion-vectors.enabled": "true"} if rnd.randrange(2) else {"merge-engine": "partial-update"})
    made = tables.schema(["INT", "STRING"], [("p", "STRING NOT NULL" if keyed else "STRING")], options)
    made["primaryKeys"] = ["p", "id"] if keyed else []
    columns = rows.Columns(made, {"p": tables.one_of('"a"', '"b"', '"c"', '"d"', '"e"', '"f"'), "id": lambda r: str(r.randrange(6))})
    java("create", table, tables.text(made))
    steps = 0

    def append(branch):
        nonlocal steps
        steps += 1
        lines = [x for x in columns.rows(rnd, 12) if rnd.randrange(3) == 0 or '"p":"a"' in x]
        lines = [columns.row(rnd) for _ in range(rnd.randrange(1, 4))] if not lines else lines[:4]
        java.append(table, support.write_rows(os.path.join(folder, f"step{steps}.jsonl"), lines), "--branch", branch)

    append("main")
    java("tag", table, "t1")
    java("branch", table, "other", *(["--tag", "t1"] if rnd.randrange(2) else []))
    for _ in range(6):
        append(rnd.choice(("main", "other")))
        if rnd.randrange(4) == 0:
            java.run("compact", table, "--branch", rnd.choice(("main", "other")), *(["--full"] if rnd.randrange(2) else []))
    for option in ("scan.fallback-branch", "scan.primary-branch"):
        java("alter", table, json.dumps([{"op": "set", "key": option, "value": "other"}]))
        lines = both(pml, java, table)
        support.equal(f"count with {option}", len(lines), pml.count(table))
        support.equal(f"rows by threads with {option}", lines, pml.dump(table, "--threads", "3"))
        both(pml, java, table, "--columns", "v1,p")
        for _ in range(4 if lines else 0):
            both(pml, java, table, *support.filter_args(columns.predicate(rnd, lines)))
        for name in ("audit_log", "binlog", "ro", "files", "partitions", "buckets", "table_indexes", "snapshots"):
            both(pml, java, table, "--system", name)
        both(pml, java, table, "--tag", "t1")
        for name in sorted(os.listdir(os.path.join(table, "snapshot"))):
            if name.startswith("snapshot-"):
                snapshot = f"scan.snapshot-id={name.split('-')[1]}"
                both(pml, java, table, "--option", snapshot)
                both(pml, java, table, "--option", snapshot, "--system", "partitions")
                both(pml, java, table, "--option", snapshot, "--system", "file_key_ranges")
        java("alter", table, json.dumps([{"op": "unset", "key": option}]))


def add_cases(suite, pml, java, seed):
    for i in range(6):
        suite.case(f"system: row_tracking {i}", row_tracking, pml, java, seed + i)
    for i in range(6):
        suite.case(f"system: audit_log and binlog {i}", audited, pml, java, seed + i)
    for i in range(3):
        suite.case(f"system: conditions {i}", metadata, pml, java, seed + i)
    for i in range(6):
        suite.case(f"system: two branches {i}", branches, pml, java, seed + i)
