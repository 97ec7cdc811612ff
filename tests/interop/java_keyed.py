# SPDX-License-Identifier: Apache-2.0
"""Tables with a primary key that follow from a seed, written by pml, and the same rows by Java into a table beside it. Java must read
one answer from both, after every commit and every compaction of its own, and pml the same. To tables with dynamic buckets both write."""
import json
import os
import random
import re

import java_random
import rows
import support
import tables

COMMITS = 6
MINUS_ZERO = re.compile(r"(?<=[:\[,])-0(?=[,}\]])")  # a whole number has no such zero, and Java reads it as one


class KeyedTable(java_random.RandomTable):
    """The table that pml writes; `mirror` is Java's."""

    def __init__(self, folder, pml, java, seed):
        self.folder, self.pml, self.java, self.rnd = folder, pml, java, random.Random(seed)
        self.steps, self.names, self.unordered = 0, 0, set()
        for attempt in range(50):
            self.table, self.mirror = (os.path.join(folder, f"{name}{attempt}") for name in ("t", "java"))
            self.engine = self.rnd.choice([e for e in java_random.ENGINES if e != "append"])
            made = self.draw()
            ok, out = java.run("create", self.table, tables.text(made))
            if ok and java.run("create", self.mirror, tables.text(made))[0]:
                break
        else:
            raise support.Wrong(f"Java makes none of these tables: {out[:600].decode()}")

    def storage_options(self, pk):
        o = self.options
        super().storage_options(pk)
        o.update({"file.format": "parquet", "bucket": self.rnd.choice("1123"), "write-only": "true"})
        # Not written; Java cannot write pages that small.
        for name in ("file.format.per.level", "manifest.format", "manifest.compression", "pk-clustering-override", "parquet.page.size"):
            o.pop(name, None)
        if o.get("file.compression") in ("bzip2", "deflate"):  # of text files
            del o["file.compression"]
        if self.some(20):
            o["write-buffer-size"] = self.rnd.choice(("256 kb", "300 kb"))
        if self.some(15):
            o["ignore-update-before"] = "true"

    def dynamic_buckets(self):
        """Few keys a bucket, so that there are many; sometimes more keys than all buckets should have: Java chooses the bucket of those at
        random, and with it what is compacted together, which some aggregators show."""
        o = self.options
        o.pop("bucket-function.type", None)
        o.update({"bucket": "-1", "dynamic-bucket.target-row-num": self.rnd.choice(("1", "3", "10", "1000"))})
        if self.engine in ("deduplicate", "first-row") and self.some(40):
            o["dynamic-bucket.max-buckets"] = self.rnd.choice("123")

    def index_options(self):
        """Only Java writes indexes."""

    def live_rows(self, made):
        """Half of the tables with fixed buckets are written live. Values without an order are refused there, as keys and as NaN, and keys
        that may be in several partitions."""
        o = self.options
        if not set(made["partitionKeys"]) <= set(made["primaryKeys"]):
            return
        ordered = set(made["primaryKeys"]) | set(o.get("sequence.field", "").split(","))
        if o["bucket"] == "-1" or any(f["name"] in ordered and f["type"].split()[0] in ("FLOAT", "DOUBLE") for f in made["fields"]):
            return
        if self.some(50):
            self.live = ["--live", "--user", "live"]
            o.update({"realtime.enabled": "true"})

    def merge_options(self, made):
        super().merge_options(made)
        self.live = []
        if set(made["partitionKeys"]) <= set(made["primaryKeys"]) and self.some(40):
            self.dynamic_buckets()
        if self.options.get("changelog-producer") == "input":
            del self.options["changelog-producer"]
        self.options.pop("sequence.field.sort-order", None)  # Java's write buffer sorts ascending all the same
        if self.some(10):
            made["fields"].append({"name": "kind", "type": "STRING NOT NULL"})
            self.options["rowkind.field"] = "kind"
        self.live_rows(made)

    def kinds(self):
        if self.engine == "deduplicate" or "ignore-delete" in self.options:
            return ("+I", "+I", "+U", "-D", "-U")
        return ("+I", "+I", "+U", "-D") if self.deletes else ("+I", "+U")

    def line(self, columns):
        kind, line = self.rnd.choice(self.kinds()), columns.row(self.rnd)
        if "rowkind.field" in self.options:
            cells = rows.cells_of(line)
            cells["kind"] = rows.quote(kind)
            return "{" + ",".join(f"{rows.quote(n)}:{c}" for n, c in cells.items()) + "}"
        return line.replace('"+I"', f'"{kind}"', 1)

    def append(self):
        self.steps += 1
        columns = self.columns()
        lines = [self.line(columns) for _ in range(self.rnd.choice((1, 3, java_random.ROWS, 4 * java_random.ROWS)))]
        file = support.write_rows(os.path.join(self.folder, f"step{self.steps}.jsonl"), lines)
        with open(file + ".java", "w", encoding="utf-8", newline="") as f:
            f.write("".join(MINUS_ZERO.sub("-0.0", x) + "\n" for x in lines))
        java, out = self.java.run("append", self.mirror, file + ".java")
        if (self.options["bucket"] == "-1" and self.some(35)) or (self.live and self.some(20)):  # each goes on where the other was
            if java:
                self.java("append", self.table, file + ".java")
            return
        done = self.pml.run("ingest", self.table, file, *self.live)
        if java != (done.code == 0):
            raise support.Wrong(f"step {self.steps}: Java {'takes' if java else 'refuses'} the rows: {'' if java else out[:500]}, "
                                f"pml's exit code is {done.code}: {done.err[:500]}")

    def compact(self):
        full = ["--full"] if self.some(50) else []
        for table in (self.table, self.mirror):
            self.java.run("compact", table, *full)

    def one_answer(self):
        """Java of both tables, and pml of its own."""
        found = self.same()
        ok, out = self.java.run("dump", self.mirror)
        if ok and found is not None:
            support.equal("Java's table", sorted(map(self.without_update, support.lines_of(out))), sorted(map(self.without_update, found)))

    def without_update(self, line):
        """A row that nothing was merged into is +U or +I by whether its file was read alone, which hangs on what a compaction took by
        the sizes of files, and these are not Java's."""
        return self.plain(line).replace('"_kind":"+U"', '"_kind":"+I"', 1)


def written(folder, pml, java, seed):
    t = KeyedTable(folder, pml, java, seed)
    try:
        for step in range(COMMITS):
            if step == 0 or t.some(75):
                t.append()
            else:
                t.compact()
            t.one_answer()
    except support.Wrong as e:
        raise support.Wrong(f"{e}\n      options: {json.dumps(t.options)}\n      seed {seed}") from e


def add_cases(suite, pml, java, seed, number):
    for i in range(number):
        suite.case(f"keyed {seed + i}", written, pml, java, seed + i)
