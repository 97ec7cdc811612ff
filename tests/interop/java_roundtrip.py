# SPDX-License-Identifier: Apache-2.0
"""pml makes and fills a table; Java makes and fills another with the same rows. Both are read by both, and their metadata is
compared: schema file, snapshots, manifests, statistics."""
import glob
import json
import os
import random

import rows
import support
import tables

PREDICATES = 12
# What two writers never share: names, sizes, times, identities.
SNAPSHOT_OWN = ("baseManifestList", "deltaManifestList", "baseManifestListSize", "deltaManifestListSize", "commitUser",
                "commitIdentifier", "timeMillis")
ENTRY_OWN = ("file", "size")

# Values that occur often enough for a dictionary; Java looks into it before it reads.
FINDABLE = {
    "DECIMAL(25,4)": ['"-505094811.0780"', '"1.0000"', '"99999999999999999999.0001"'],
    "DECIMAL(38,10)": ['"-505094811.0780000000"', '"1.0000000000"'],
    "DECIMAL(18,2)": ['"-5.07"', '"1.00"'],
    "DECIMAL(9,3)": ['"-5.078"', '"1.000"'],
    "STRING": ['"a"', '"bb"', '""'],
    "CHAR(3)": ['"abc"', '"xyz"'],
    "BYTES": ['"00"', '"ffee"', '""'],
    "BINARY(2)": ['"0001"', '"ffee"'],
    "TINYINT": ["-128", "7"],
    "BIGINT": ["-9223372036854775808", "7"],
    "FLOAT": ["1.5", "-2.5"],
    "DOUBLE": ["1.5", "-2.5"],
    "DATE": ['"2024-01-02"', '"1924-01-02"'],
    "TIME(3)": ['"03:04:05.123"'],
    "TIMESTAMP(3)": ['"2024-01-02T03:04:05.123"', '"1924-01-02T03:04:05.123"'],
    "TIMESTAMP(6)": ['"2024-01-02T03:04:05.123456"', '"1924-01-02T03:04:05.123456"'],
    "TIMESTAMP(9)": ['"2024-01-02T03:04:05.123456789"', '"1924-01-02T03:04:05.123456789"'],
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": ['"2024-01-02T03:04:05.123Z"'],
    "BOOLEAN": ["true", "false"],
}


def add_cases(suite, pml, java, seed):
    for i, (name, (schema, fixed)) in enumerate(tables.matrix().items()):
        suite.case(f"both ways: {name}", both_ways, pml, java, schema, fixed, seed + i)
    for i in range(6):
        suite.case(f"java random table {i}", java_random, pml, java, seed + i)
    for t, values in FINDABLE.items():
        suite.case(f"found by value: {t}", found_by_value, pml, java, t, values)
    suite.case("empty table", empty_table, pml, java)
    suite.case("rolling files", rolling_files, pml, java, seed)
    suite.case("delta encodings in many pages", delta_pages, pml, java, seed)


def both_ways(folder, pml, java, schema, fixed, seed):
    rnd = random.Random(seed)
    columns = rows.Columns(schema, fixed)
    ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
    pml("table", "create", ours, tables.text(schema))
    java("create", theirs, tables.text(schema))
    same_schema(ours, theirs)
    commits = [columns.rows(rnd, 60), columns.rows(rnd, 25, 60)]
    for i, lines in enumerate(commits):
        file = support.write_rows(os.path.join(folder, f"rows{i}.jsonl"), lines)
        pml("load", ours, file)
        # With more than five open writers Java spills and numbers the rows anew.
        java.append(theirs, file, "--write-only", "--option", "write-max-writers-to-spill=1000")
    want = commits[0] + commits[1]
    support.equal("Java reads what pml wrote", rows.in_order(want), java.dump(ours))
    support.equal("pml reads what pml wrote", rows.in_order(want), pml.dump(ours))
    support.equal("pml reads what Java wrote", rows.in_order(want), pml.dump(theirs))
    support.equal("pml reads snapshot 1", rows.in_order(commits[0]), pml.dump(ours, "--snapshot", "1"))
    support.equal("Java reads snapshot 1", rows.in_order(commits[0]), java.dump(ours, "--snapshot", "1"))
    support.equal("pml counts", len(want), pml.count(ours))
    names = rnd.sample(columns.names, rnd.randrange(1, len(columns.names)))
    projected = rows.in_order(columns.project(want, names))
    for who, table in ((java, ours), (pml, ours), (pml, theirs)):
        support.equal(f"columns {','.join(names)}", projected, who.dump(table, "--columns", ",".join(names)))
    for _ in range(PREDICATES):
        same_by_filter(columns.predicate(rnd, want), pml, java, ours, theirs)
    same_metadata(java.inspect(theirs), java.inspect(ours))


def same_by_filter(predicate, pml, java, ours, theirs):
    args = support.filter_args(predicate)
    want = java.dump(theirs, *args)
    support.equal(f"Java reads what pml wrote with {args[1]}", want, java.dump(ours, *args))
    support.equal(f"pml reads what pml wrote with {args[1]}", want, pml.dump(ours, *args))
    support.equal(f"pml reads what Java wrote with {args[1]}", want, pml.dump(theirs, *args))


def same_schema(ours, theirs):
    made = []
    for table in (theirs, ours):
        with open(os.path.join(table, "schema", "schema-0"), encoding="utf-8") as f:
            made.append(json.load(f))
        made[-1].pop("timeMillis")
    support.equal("schema-0", *made)
    support.equal("members of schema-0", list(made[0]), list(made[1]))


def snapshot_of(snapshot):
    return {k: None if k in SNAPSHOT_OWN else v for k, v in snapshot.items()}


def entries_of(manifests):
    made = [{k: v for k, v in e.items() if k not in ENTRY_OWN} for m in manifests for e in m.get("entries", ())]
    return sorted(made, key=lambda e: json.dumps(e, sort_keys=True))


def same_metadata(theirs, ours):
    support.equal("number of snapshots", len(theirs["snapshots"]), len(ours["snapshots"]))
    for want, got in zip(theirs["snapshots"], ours["snapshots"]):
        id = want["snapshot"]["id"]
        support.equal(f"snapshot {id}", snapshot_of(want["snapshot"]), snapshot_of(got["snapshot"]))
        for kind in ("base", "delta"):
            parts = ([{k: v for k, v in m.items() if k not in ("file", "size", "entries")} for m in s[kind]] for s in (want, got))
            support.equal(f"{kind} manifest list of snapshot {id}", *parts)
            left, right = entries_of(want[kind]), entries_of(got[kind])
            for w, g in zip(left, right):
                same_with_nan(w["valueStats"], g["valueStats"])
                for key in w:
                    support.equal(f"{key} of an entry of snapshot {id}", w[key], g.get(key))
            support.equal(f"number of {kind} entries of snapshot {id}", len(left), len(right))


def same_with_nan(theirs, ours):
    """Java's maximum of a column with a NaN is NaN. We give no extremes then, which readers take as unknown."""
    for name in [n for n, v in theirs["max"].items() if v == "NaN" and n not in ours["max"]]:
        if name not in ours["min"]:
            theirs["max"].pop(name)
            theirs["min"].pop(name)


def java_random(folder, pml, java, seed):
    """A table that follows from a seed in Java."""
    table = os.path.join(folder, "t")
    java("random", table, "--seed", str(seed), "--engine", "append", "--format", "parquet")
    want = java.dump(table)
    support.equal("pml reads the table", want, pml.dump(table))
    with open(sorted(glob.glob(os.path.join(table, "schema", "schema-*")))[0], encoding="utf-8") as f:
        columns = simple_columns(json.load(f))
    rnd = random.Random(seed)
    for _ in range(PREDICATES):
        args = support.filter_args(columns.predicate(rnd, want))
        support.equal(f"pml reads with {args[1]}", java.dump(table, *args), pml.dump(table, *args))


def simple_columns(schema):
    """The columns that predicates can name; nested types are objects in a schema file."""
    return rows.Columns({"fields": [f for f in schema["fields"] if isinstance(f["type"], str)]})


def empty_table(folder, pml, java):
    table = os.path.join(folder, "t")
    pml("table", "create", table, tables.text(tables.schema(tables.FEW)))
    support.equal("Java reads no rows", [], java.dump(table))
    support.equal("pml reads no rows", [], pml.dump(table))
    support.equal("pml counts", 0, pml.count(table))
    done = pml.run("table", "create", table, tables.text(tables.schema(tables.FEW)))
    support.equal("making it again is refused", True, done.code != 0)


def rolling_files(folder, pml, java, seed):
    """Where a file ends is each writer's own estimate; that there are several, and each row once, is not."""
    schema = tables.schema(tables.FEW, options={"target-file-size": "64 kb"})
    lines = rows.Columns(schema).rows(random.Random(seed), 20000)
    file = support.write_rows(os.path.join(folder, "rows.jsonl"), lines)
    for who, other, append in ((pml, java, lambda t: pml("load", t, file)), (java, pml, lambda t: java.append(t, file, "--write-only"))):
        table = os.path.join(folder, "by-" + type(who).__name__)
        pml("table", "create", table, tables.text(schema))
        append(table)
        live = java.inspect(table)["live"]
        support.equal("several files", True, len(live) > 1)
        support.equal("sequence numbers without a gap", list(range(len(lines))),
                      [n for e in sorted(live, key=lambda e: e["seq"]) for n in range(e["seq"][0], e["seq"][1] + 1)])
        support.equal("rows", rows.in_order(lines), other.dump(table))


def delta_pages(folder, pml, java, seed):
    """Java's vectorised reader over many batches and pages of each delta encoded column, with and without filters, its own copy of
    such files (compaction), and both encodings in one table."""
    rnd = random.Random(seed)
    made = tables.schema(tables.SCALARS, options={"parquet.enable.dictionary": "false", "parquet.page.size": "2048",
                                                  "bucket": "1", "bucket-key": "id"})
    columns = rows.Columns(made)
    table = os.path.join(folder, "t")
    pml("table", "create", table, tables.text(made))
    want = []
    for i, option in enumerate(("true", "false", "true")):
        lines = columns.rows(rnd, 2200, 2200 * i)
        file = support.write_rows(os.path.join(folder, f"rows{i}.jsonl"), lines)
        java("alter", table, f'[{{"op":"set","key":"parquet.enable.delta","value":"{option}"}}]')
        pml("load", table, file)
        want += lines
    want = rows.in_order(want)
    predicates = [support.filter_args(columns.predicate(rnd, want)) for _ in range(4)]
    predicates += [["--filter", f'{{"and":[{{"ge":["id",{i}]}},{{"lt":["id",{i + 300}]}}]}}'] for i in (900, 2100)]
    filtered = [pml.dump(table, *args) for args in predicates]
    for step in ("before", "after"):
        support.equal(f"Java reads {step} compaction", want, java.dump(table))
        support.equal(f"pml reads {step} compaction", want, pml.dump(table))
        for args, rows_of in zip(predicates, filtered):
            support.equal(f"Java reads {step} compaction with {args[1]}", rows_of, java.dump(table, *args))
        if step == "before":
            java("compact", table, "--full")
            support.equal("files after compaction", 1, len(java.inspect(table)["live"]))


def found_by_value(folder, pml, java, t, values):
    """Each value of a column, searched for in what the other one wrote."""
    made = tables.schema([t])
    ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
    lines = [f'{{"_kind":"+I","id":{i},"v0":{v}}}' for i, v in enumerate(values * 3)]
    file = support.write_rows(os.path.join(folder, "rows.jsonl"), lines)
    for table in (ours, theirs):
        pml("table", "create", table, tables.text(made))
    pml("load", ours, file)
    java.append(theirs, file)
    for v in values:
        want = rows.in_order(x for x in lines if rows.cells_of(x)["v0"] == v)
        for predicate in (f'{{"eq":["v0",{v}]}}', f'{{"in":["v0",[{v}]]}}'):
            for who, table in ((java, ours), (java, theirs), (pml, ours), (pml, theirs)):
                name = f"{type(who).__name__} reads {os.path.basename(table)} with {predicate}"
                support.equal(name, want, who.dump(table, "--filter", predicate))
