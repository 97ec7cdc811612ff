# SPDX-License-Identifier: Apache-2.0
"""What changed: Java writes with each changelog producer, and both show the same changes, row by row; consumers of ours hold Java's expiry
back, and what it lets go of is said."""
import json
import os
import random

import rows
import support
import tables

PRODUCERS = ("none", "input", "lookup", "full-compaction")
FORMATS = ("parquet", "orc", "avro")


def add_cases(suite, pml, java, seed):
    for i, producer in enumerate(PRODUCERS):
        for j, engine in enumerate(("deduplicate", "aggregation", "partial-update", "append" if producer == "none" else "first-row")):
            if engine != "first-row" or producer == "lookup":
                suite.case(f"changes: {producer}, {engine}", produced, pml, java, seed + 10 * i + j, producer, engine)
    suite.case("changes: overwrites", overwrites, pml, java, seed)
    suite.case("changes: tags", tags, pml, java, seed)
    suite.case("changes: changelogs that outlive snapshots", retained, pml, java, seed)
    suite.case("changes: a consumer holds expiry back", consumer, pml, java, seed)


def create(folder, java, name, producer, engine, rnd, **options):
    table = os.path.join(folder, name)
    made = tables.schema(["INT", "STRING", "BIGINT"], [("p", "INT NOT NULL")] if rnd.randrange(2) else [])
    made["options"] = {"bucket": str(rnd.randrange(1, 4)), "file.format": rnd.choice(FORMATS), **options}
    if engine == "append":
        made["options"]["bucket-key"] = "id"
        return table, made
    made["primaryKeys"] = ["id", *made["partitionKeys"]]
    made["options"].update({"changelog-producer": producer, "merge-engine": engine})
    if engine == "aggregation":
        made["options"].update({"fields.v0.aggregate-function": "sum", "fields.v2.aggregate-function": "max", "fields.v2.ignore-retract": "true"})
    if engine in ("partial-update", "first-row"):
        made["options"]["ignore-delete"] = "true"
    return table, made


def append(folder, java, table, made, rnd, step, *args):
    columns = rows.Columns(made, {"id": lambda r: str(r.randrange(30)), "p": lambda r: str(r.randrange(2))})
    lines = [columns.row(rnd) for _ in range(rnd.randrange(1, 20))]
    if made["primaryKeys"] and made["options"]["merge-engine"] != "first-row":
        lines = [x.replace('"+I"', '"-D"', 1) if rnd.randrange(5) == 0 else x for x in lines]
    java.append(table, support.write_rows(os.path.join(folder, f"step{step}.jsonl"), lines), *args)


def snapshots_of(table):
    return sorted(int(name.split("-")[1]) for name in os.listdir(os.path.join(table, "snapshot")) if name.startswith("snapshot-"))


def same(pml, java, table, *args):
    """The rows of a dump, or nothing when both refuse."""
    ok, out = java.run("dump", table, *args)
    done = pml.run("dump", table, *args)
    if not ok:
        if done.code == 0:
            raise support.Wrong(f"{' '.join(args)}: pml answers, Java does not: {out[:300].decode('utf-8', 'replace')}")
        return
    if done.code != 0:
        raise support.Wrong(f"{' '.join(args)}: Java answers, pml says {done.err}")
    support.equal(" ".join(args), support.lines_of(out), support.lines_of(done.out))


def by_key(lines):
    """The changes of each key in their order: where files were replaced, Java's buckets come out of a hash table."""
    keys = {}
    for line in lines:
        row = json.loads(line)
        keys.setdefault((row["_snapshot"], row["id"], row.get("p")), []).append(line)
    return keys


def same_changelog(pml, java, table, first, shape=lambda lines: lines):
    support.equal(f"changelog from {first}", shape(java("changelog", table, "--from", str(first))), shape(pml("changelog", table, "--from", first)))


def produced(folder, pml, java, seed, producer, engine):
    rnd = random.Random(seed)
    table, made = create(folder, java, "t", producer, engine, rnd)
    java("create", table, tables.text(made))
    for step in range(8):
        if step > 1 and rnd.randrange(3) == 0:
            java.run("compact", table, *(["--full"] if rnd.randrange(2) else []))
        else:
            append(folder, java, table, made, rnd, step)
    ids = snapshots_of(table)
    for first in {1, rnd.choice(ids)}:
        same_changelog(pml, java, table, first)
    for mode in ("auto", "delta", "changelog", "diff"):
        for a, b in [(0, ids[-1]), sorted(rnd.sample(ids, 2)), sorted(rnd.sample(ids, 2))]:
            options = ["--option", f"incremental-between={a},{b}", "--option", "incremental-between-scan-mode=" + mode]
            same(pml, java, table, *options)
            same(pml, java, table, *options, "--system", "audit_log")
            same(pml, java, table, *options, "--columns", "v1,id")
            if made["options"]["bucket"] == "1" and not made["partitionKeys"]:  # of several buckets Java's splits come out of a hash table
                same(pml, java, table, *options, "--unsorted")
            same(pml, java, table, *options, *support.filter_args({"gt": ["id", 12]}))


def overwrites(folder, pml, java, seed):
    rnd = random.Random(seed)
    for i, (producer, engine, asked) in enumerate((("none", "deduplicate", "true"), ("none", "deduplicate", "false"), ("input", "aggregation", "true"),
                                                   ("lookup", "deduplicate", "false"), ("none", "append", "true"), ("none", "append", "false"))):
        options = {"streaming-read-overwrite": asked} if engine != "append" else {"streaming-read-append-overwrite": asked}
        table, made = create(folder, java, f"t{i}", producer, engine, rnd, **options)
        java("create", table, tables.text(made))
        for step in range(6):
            append(folder, java, table, made, rnd, step, *(["--overwrite", "all"] if step in (2, 4) else []))
            if step == 3:
                java.run("compact", table)
        same_changelog(pml, java, table, 1, by_key)


def tags(folder, pml, java, seed):
    rnd = random.Random(seed)
    table, made = create(folder, java, "t", "lookup", "deduplicate", rnd)
    java("create", table, tables.text(made))
    for step, name in enumerate(("2024-01-01", "2024-01-02", "other", "2024-01-05")):
        append(folder, java, table, made, rnd, step)
        java("tag", table, name)
    between = lambda a, b: ["--option", f"incremental-between={a},{b}"]
    for args in (between("2024-01-01", "2024-01-05"), between("2024-01-01", "other"), between("other", "other"), between("2024-01-05", "2024-01-01"),
                 between("2024-01-01", "2024-01-05") + ["--option", "incremental-between-tag-to-snapshot=true"], between("none", "other"),
                 ["--option", "incremental-to-auto-tag=2024-01-05"], ["--option", "incremental-to-auto-tag=2024-01-01"],
                 ["--option", "incremental-to-auto-tag=2024-01-09"], ["--option", "incremental-to-auto-tag=other"]):
        same(pml, java, table, *args)
        same(pml, java, table, *args, "--system", "audit_log")


def retained(folder, pml, java, seed):
    rnd = random.Random(seed)
    table, made = create(folder, java, "t", "input", "deduplicate", rnd,
                         **{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "changelog.num-retained.min": "5", "changelog.num-retained.max": "6"})
    java("create", table, tables.text(made))
    for step in range(8):
        append(folder, java, table, made, rnd, step)
    ids = snapshots_of(table)
    if ids[0] < 6 or not os.path.exists(os.path.join(table, "changelog", f"changelog-{ids[0] - 1}")):
        raise support.Wrong(f"the snapshots {ids} did not expire, or their changelogs did")
    for first in (1, ids[0] - 2, *ids):
        same_changelog(pml, java, table, first)


def consumer(folder, pml, java, seed):
    rnd = random.Random(seed)
    table, made = create(folder, java, "t", "none", "append", rnd)
    java("create", table, tables.text(made))
    for step in range(3):
        append(folder, java, table, made, rnd, step)
    seen = pml("changelog", table, "--consumer", "ours")
    for step in range(3, 6):
        append(folder, java, table, made, rnd, step)
    java("expire", table, "--retain", "1")
    support.equal("what the consumer has not seen is kept", 4, snapshots_of(table)[0])
    support.equal("Java sees the consumer", java.dump(table, "--system", "consumers"), pml.dump(table, "--system", "consumers"))
    seen += pml("changelog", table, "--consumer", "ours")
    support.equal("every row came once", java.dump(table), sorted("{" + x.split(",", 1)[1] for x in seen))
    os.remove(os.path.join(table, "consumer", "consumer-ours"))
    java("expire", table, "--retain", "1")
    with open(os.path.join(table, "consumer", "consumer-late"), "w") as f:
        json.dump({"nextSnapshot": 2}, f)
    first = str(snapshots_of(table)[0])
    code, _, err = pml.run("changelog", table, "--consumer", "late")  # Java goes on with the first that is left, without a word
    if code == 0 or f"{first} is the first that is left" not in err:
        raise support.Wrong(f"a consumer that is late: {code}, {err}")
    late = pml("changelog", table, "--consumer", "late", "--anew")
    support.equal("what the first that is left shows", support.lines_of(java.run("changelog", table, "--from", first)[1]), late)
