# SPDX-License-Identifier: Apache-2.0
"""pml and Java write to one table in turns: append, compaction, overwrite, truncate, expiry. After each step both must read
what a plain list of rows says."""
import json
import os
import random
import shutil

import rows
import support
import tables


class Shared:
    """A table that both write, and the rows that it must hold."""

    def __init__(self, folder, pml, java, schema, fixed, seed):
        self.folder, self.pml, self.java, self.schema = folder, pml, java, schema
        self.table = os.path.join(folder, "t")
        self.columns = rows.Columns(schema, fixed)
        self.rnd = random.Random(seed)
        self.lines, self.next, self.steps = [], 0, 0

    def new_rows(self, n, **values):
        """n rows with new ids; values: texts of columns, e.g. p="1"."""
        made, saved = [], dict(self.columns.fixed)
        self.columns.fixed.update({k: tables.one_of(v) for k, v in values.items()})
        made = self.columns.rows(self.rnd, n, self.next)
        self.columns.fixed = saved
        self.next += n
        return made

    def file(self, lines):
        self.steps += 1
        return support.write_rows(os.path.join(self.folder, f"step{self.steps}.jsonl"), lines)

    def load(self, n, **values):
        lines = self.new_rows(n, **values)
        self.pml("load", self.table, self.file(lines))
        self.lines += lines
        self.verify(f"pml load, step {self.steps}")

    def ingest(self, n, *args, **values):
        lines = self.new_rows(n, **values)
        self.pml("ingest", self.table, self.file(lines), *args)
        self.lines += lines
        self.verify(f"pml ingest, step {self.steps}")

    def java_append(self, n, *args, **values):
        lines = self.new_rows(n, **values)
        self.java.append(self.table, self.file(lines), *args)
        self.lines += lines
        self.verify(f"Java append, step {self.steps}")

    def java_compact(self, *args):
        self.java("compact", self.table, *args)
        self.verify("Java compact " + " ".join(args))

    def java_overwrite(self, n, spec, doomed, **values):
        lines = self.new_rows(n, **values)
        self.java.append(self.table, self.file(lines), "--overwrite", spec)
        self.lines = [x for x in self.lines if not doomed(rows.cells_of(x))] + lines
        self.verify(f"Java INSERT OVERWRITE {spec}")

    def java_truncate(self, *spec, doomed=lambda cells: True):
        self.java("truncate", self.table, *spec)
        self.lines = [x for x in self.lines if not doomed(rows.cells_of(x))]
        self.verify("Java truncate " + " ".join(spec))

    def overwrite(self, n, spec, doomed, **values):
        """spec: KEY=VALUE words; none: as the table's option says."""
        lines = self.new_rows(n, **values)
        words = [w for s in spec for w in ("--partition", s)]
        self.pml("ingest", self.table, self.file(lines), "--overwrite", *words)
        self.lines = [x for x in self.lines if not doomed(rows.cells_of(x))] + lines
        self.verify("pml ingest --overwrite " + " ".join(spec))

    def truncate(self):
        self.pml("table", "truncate", self.table, "--yes")
        self.lines = []
        self.verify("pml table truncate")

    def drop_partition(self, *spec, doomed):
        self.pml("table", "drop-partition", self.table, *spec, "--yes")
        self.lines = [x for x in self.lines if not doomed(rows.cells_of(x))]
        self.verify("pml table drop-partition " + " ".join(spec))

    def verify(self, after):
        want = rows.in_order(self.lines)
        support.equal(f"pml after {after}", want, self.pml.dump(self.table))
        support.equal(f"Java after {after}", want, self.java.dump(self.table))
        support.equal(f"pml count after {after}", len(want), self.pml.count(self.table))


def add_cases(suite, pml, java, seed):
    buckets = {"bucket": "2", "bucket-key": "id"}
    few = tables.FEW
    kinds = {
        "unaware": (tables.schema(few), {}),
        "buckets": (tables.schema(few, options=buckets), {}),
        "partitions": (tables.schema(few, [("p", "INT")]), {"p": tables.INT_PARTITION}),
        "partitions and buckets": (tables.schema(few, [("p", "STRING")], buckets), {"p": tables.STRING_PARTITION}),
        "nested": (tables.schema(tables.NESTED, options=buckets), {}),
    }
    for i, (name, (schema, fixed)) in enumerate(kinds.items()):
        suite.case(f"in turns: {name}", in_turns, pml, java, schema, fixed, seed + i)
    suite.case("in turns: manifests are merged", merged_manifests, pml, java, seed)
    suite.case("in turns: random steps", random_steps, pml, java, seed)
    suite.case("in turns: an altered table", altered, pml, java, seed)
    suite.case("overwrites say the same as Java's", overwrites_alike, pml, java, seed)


def in_turns(folder, pml, java, schema, fixed, seed):
    t = Shared(folder, pml, java, schema, fixed, seed)
    java("create", t.table, tables.text(schema))
    t.java_append(30)
    t.load(20)
    t.java_append(10)
    t.java_compact("--full")
    t.load(15)
    if schema["partitionKeys"]:
        p = "b c" if "STRING" in schema["fields"][1]["type"] else "2"
        text = f'"{p}"' if p == "b c" else p
        t.java_overwrite(7, f"p={p}", lambda cells: cells["p"] == text, p=text)
        t.load(5, p=text)
        t.java_truncate(f"p={p}", doomed=lambda cells: cells["p"] == text)
        t.load(6, p=text)
        t.overwrite(5, [f"p={p}"], lambda cells: cells["p"] == text, p=text)
        t.java_append(4, p=text)
        t.overwrite(3, [], lambda cells: cells["p"] == text, p=text)
        t.drop_partition(f"p={p}", doomed=lambda cells: cells["p"] == text)
        t.java_compact("--full")
        t.java_append(4, p=text)
    else:
        t.java_overwrite(7, "all", lambda cells: True)
        t.overwrite(6, [], lambda cells: True)
        t.java_append(5)
    t.ingest(25, "--commit-every", 10)
    t.java_compact()
    t.load(5)
    java("expire", t.table, "--retain", "2")
    t.verify("Java expire")
    t.load(5)
    t.java_append(5)
    t.java_truncate()
    t.load(4)
    t.java_append(4)
    t.truncate()
    t.java_append(3)
    t.java_compact()
    t.truncate()
    t.java_truncate()
    t.load(2)
    support.equal("snapshots are listed", True, len(pml("snapshots", t.table, "--format", "json")) >= 2)


def said_by(java, table):
    """What the newest snapshot and its delta say, without names and times that differ from writer to writer."""
    last = java.inspect(table)["snapshots"][-1]
    said = {k: last["snapshot"].get(k) for k in ("commitKind", "commitIdentifier", "totalRecordCount", "deltaRecordCount", "nextRowId",
                                                 "watermark", "schemaId", "properties", "indexManifest")}
    said["manifests"] = [{k: m[k] for k in ("added", "deleted", "schemaId", "partitionStats", "bucket", "level", "rowId")}
                         for m in last["delta"]]
    entries = [e for m in last["delta"] for e in m["entries"]]
    said["removed"] = [e for e in entries if e["kind"] == "DELETE"]  # in this order
    said["added"] = sorted(((json.dumps(e["partition"]), e["bucket"], e["totalBuckets"], e["rows"]) for e in entries if e["kind"] == "ADD"))
    said["removed first"] = [e["kind"] for e in entries] == ["DELETE"] * len(said["removed"]) + ["ADD"] * len(said["added"])
    return said


def overwrites_alike(folder, pml, java, seed):
    """Java overwrites one of two equal tables, pml the other. Both go on on top of the other's work."""
    schema = tables.schema(tables.FEW, [("p", "INT"), ("q", "STRING")], {"bucket": "2", "bucket-key": "id"})
    fixed = {"p": tables.one_of("1", "2", "null"), "q": tables.one_of('"a"', '"b c"', "null")}
    t = Shared(folder, pml, java, schema, fixed, seed)
    java("create", t.table, tables.text(schema))
    java("truncate", t.table)
    copy = os.path.join(folder, "copy")
    pml("table", "create", copy, tables.text(schema))
    pml("table", "truncate", copy, "--yes")
    support.equal("truncate of a table without snapshots", said_by(java, t.table), said_by(java, copy))
    t.java_append(40)
    t.java_append(40)
    rows_file = t.file(t.new_rows(5, p="1", q='"a"'))
    both = (("static, one key", ["--overwrite", "p=1"], ["--overwrite", "--partition", "p=1"]),
            ("static, two keys", ["--overwrite", "p=1,q=a"], ["--overwrite", "--partition", "p=1", "--partition", "q=a"]),
            ("whole", ["--overwrite", "all"], ["--overwrite", "--option", "dynamic-partition-overwrite=false"]))
    for name, java_words, pml_words in both:
        ours, theirs = (os.path.join(folder, f"{name}-{who}".replace(" ", "_")) for who in ("pml", "java"))
        for path in (ours, theirs):
            shutil.copytree(t.table, path)
        java.append(theirs, rows_file, *java_words, "--option", "dynamic-partition-overwrite=false")
        pml("ingest", ours, rows_file, *pml_words)
        want, got = said_by(java, theirs), said_by(java, ours)
        want["commitIdentifier"] = got["commitIdentifier"]  # the caller's
        support.equal(name, want, got)
        support.equal(f"{name}, something was removed", True, len(got["removed"]) > 0)
        for path in (ours, theirs):
            support.equal(f"{name}, rows", java.dump(path), pml.dump(path))
    for name, java_words, pml_words in (("truncate", [], ["truncate"]), ("drop", ["p=2"], ["drop-partition", "p=2"]),
                                        ("drop of two keys", ["p=2,q=b c"], ["drop-partition", "p=2", "q=b c"]),
                                        ("drop of null", ["p=__DEFAULT_PARTITION__"], ["drop-partition", "p=__DEFAULT_PARTITION__"]),
                                        ("drop of nothing", ["p=77"], ["drop-partition", "p=77"])):
        ours, theirs = (os.path.join(folder, f"{name}-{who}".replace(" ", "_")) for who in ("pml", "java"))
        for path in (ours, theirs):
            shutil.copytree(t.table, path)
        java("truncate", theirs, *java_words)
        pml("table", pml_words[0], ours, *pml_words[1:], "--yes")
        support.equal(name, said_by(java, theirs), said_by(java, ours))
        for path in (ours, theirs):
            support.equal(f"{name}, rows", java.dump(path), pml.dump(path))
            java.append(path, rows_file)
            pml("table", "truncate", path, "--yes")
            java("truncate", path)
            support.equal(f"{name}, rows at the end", [], java.dump(path))


def merged_manifests(folder, pml, java, seed):
    """Small manifests and a low merge trigger: each commit merges what the other one wrote."""
    schema = tables.schema(["STRING"], [("p", "INT")], {"manifest.merge-min-count": "3", "manifest.target-file-size": "2 kb",
                                                        "manifest.full-compaction-threshold-size": "4 kb"})
    t = Shared(folder, pml, java, schema, {"p": tables.INT_PARTITION}, seed)
    pml("table", "create", t.table, tables.text(schema))
    for i in range(8):
        t.load(6)
        t.java_append(6)
        if i == 5:
            t.java_compact("--full")


def random_steps(folder, pml, java, seed):
    schema = tables.schema(["STRING", "INT"], [("p", "INT")], {"bucket": "2", "bucket-key": "id", "manifest.merge-min-count": "4"})
    t = Shared(folder, pml, java, schema, {"p": tables.one_of("1", "2", "3")}, seed)
    pml("table", "create", t.table, tables.text(schema))
    t.load(5)
    for _ in range(25):
        p = t.rnd.choice("123")
        step = t.rnd.randrange(10)
        if step < 4:
            t.load(t.rnd.randrange(1, 12))
        elif step < 6:
            t.java_append(t.rnd.randrange(1, 12))
        elif step < 7:
            t.java_compact(*t.rnd.choice(((), ("--full",))))
        elif step < 8:
            t.java_overwrite(3, f"p={p}", lambda cells: cells["p"] == p, p=p)
        elif step < 9:
            t.ingest(9, "--commit-every", 4)
        else:
            t.java_truncate(f"p={p}", doomed=lambda cells: cells["p"] == p)


def altered(folder, pml, java, seed):
    """Options and columns may change at any time (java_evolution.py has more of the latter)."""
    schema = tables.schema(tables.FEW)
    t = Shared(folder, pml, java, schema, {}, seed)
    java("create", t.table, tables.text(schema))
    t.load(10)
    java("alter", t.table, '[{"op":"set","key":"file.compression","value":"snappy"}]')
    t.load(10)
    t.java_append(10)
    java("alter", t.table, '[{"op":"add","column":"extra","type":"INT"}]')
    support.equal("after a column was added", java.dump(t.table), pml.dump(t.table))
