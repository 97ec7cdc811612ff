#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pml writes, pypaimon reads, and the other way round; scripts/check-pypaimon runs this.

pypaimon_suite.py [--only TEXT] [--seed N] [--keep DIR]     PML names the command; pypaimon is importable
"""
import argparse
import datetime
import glob
import importlib.metadata
import os
import random
import sys
import tempfile

import rows
import support
import tables

# What pypaimon has no reader or writer for; the cases leave these columns or tables out.
NO_TYPE = ("MULTISET",)
PER_SECOND = {"s": 1, "ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}


def pypaimon_table(path):
    from pypaimon.table.file_store_table import FileStoreTable
    return FileStoreTable.from_path(path)


def arrow_of(path):
    builder = pypaimon_table(path).new_read_builder()
    return builder.new_read().to_arrow(builder.new_scan().plan().splits())


def append(path, arrow):
    builder = pypaimon_table(path).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(arrow)
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()


def instant(value, unit, precision, zone):
    seconds, rest = divmod(value, PER_SECOND[unit])
    text = (rows.EPOCH + datetime.timedelta(seconds=seconds)).isoformat(timespec="seconds")
    if precision > 0:
        text += "." + f"{rest * (10 ** 9 // PER_SECOND[unit]):09d}"[:precision]
    return f'"{text}{"Z" if zone else ""}"'


def canonical(scalar, t):
    """A pyarrow scalar as canonical text. Times are taken as integers: Python's own have microseconds only."""
    import pyarrow as pa
    if not scalar.is_valid:
        return "null"
    if t.root == "BOOLEAN":
        return "true" if scalar.as_py() else "false"
    if t.root in ("FLOAT", "DOUBLE"):
        return rows.real(scalar.as_py(), 9 if t.root == "FLOAT" else 17)
    if t.root == "DECIMAL":
        return f'"{scalar.as_py():f}"'
    if t.root in ("CHAR", "VARCHAR", "STRING"):
        return rows.quote(scalar.as_py())
    if t.root in ("BINARY", "VARBINARY", "BYTES"):
        return f'"{scalar.as_py().hex()}"'
    if t.root == "DATE":
        return f'"{scalar.as_py().isoformat()}"'
    if t.root == "TIME":
        ms = scalar.cast(pa.time32("ms")).value
        return f'"{ms // 3600000:02d}:{ms // 60000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"'
    if t.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return instant(scalar.value, scalar.type.unit, t.number(0, 6), t.root.endswith("_LTZ"))
    if t.root == "ARRAY":
        return "[" + ",".join(canonical(x, t.children[0]) for x in scalar.values) + "]"
    if t.root == "MAP":
        pairs = [f"[{canonical(x['key'], t.children[0])},{canonical(x['value'], t.children[1])}]" for x in scalar.values]
        return "[" + ",".join(sorted(pairs, key=str.encode)) + "]"
    if t.root == "ROW":
        return "{" + ",".join(f"{rows.quote(n)}:{canonical(scalar[n], c)}" for n, c in zip(t.names, t.children)) + "}"
    return str(scalar.as_py())


def codecs_of(path):
    """Compression codecs in the data files of a table."""
    import pyarrow.parquet as pq
    files = glob.glob(os.path.join(path, "**", "bucket-*", "*.parquet"), recursive=True)
    groups = [pq.ParquetFile(f).metadata.row_group(0) for f in files]
    return {g.column(i).compression for g in groups for i in range(g.num_columns)}


def lines_of(arrow, columns):
    lines = []
    for i in range(arrow.num_rows):
        cells = (f"{rows.quote(n)}:{canonical(arrow.column(n)[i], t)}" for n, t in zip(columns.names, columns.types))
        lines.append('{"_kind":"+I",' + ",".join(cells) + "}")
    return rows.in_order(lines)


def misplaced_by(options):
    """Columns by whose values pypaimon puts rows into other buckets than Paimon: its writer knows the default function only.
    A filter on them finds no such row, in Java neither: the buckets that it names are read, and the rows are elsewhere."""
    return options["bucket-key"].split(",") if options.get("bucket-function.type") == "mod" else []


def both_ways(folder, pml, schema, fixed, seed, live):
    rnd = random.Random(seed)
    columns = rows.Columns(schema, fixed)
    ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
    for table in (ours, theirs):
        pml("table", "create", table, tables.text(schema))
    first, second = columns.rows(rnd, 60), columns.rows(rnd, 25, 60)
    pml("load", ours, support.write_rows(os.path.join(folder, "first.jsonl"), first))
    file = support.write_rows(os.path.join(folder, "second.jsonl"), second)
    pml("ingest", ours, file, "--commit-every", 10, *(["--live"] if live else []))
    want = rows.in_order(first + second)
    codec = schema["options"].get("file.compression", "zstd").upper()
    codec = {"NONE": "UNCOMPRESSED", "LZ4": "UNKNOWN"}.get(codec, codec)  # pyarrow has no word for LZ4 framed as Hadoop does
    support.equal("codecs of the data files", {codec}, codecs_of(ours))
    read = arrow_of(ours)
    support.equal("pypaimon reads what pml wrote", want, lines_of(read, columns))
    support.equal("pml reads what pml wrote", want, pml.dump(ours))
    append(theirs, read)
    support.equal("pml reads what pypaimon wrote", want, pml.dump(theirs))
    for _ in range(6):
        args = support.filter_args(columns.predicate(rnd, want, leave_out=misplaced_by(schema["options"])))
        support.equal(f"pml reads what pypaimon wrote with {args[1]}", pml.dump(ours, *args), pml.dump(theirs, *args))
    third = columns.rows(rnd, 20, 100)
    pml("load", theirs, support.write_rows(os.path.join(folder, "third.jsonl"), third))
    append(theirs, read)
    want = rows.in_order(first + second + first + second + third)
    support.equal("pml reads after both wrote", want, pml.dump(theirs))
    support.equal("pypaimon reads after both wrote", want, lines_of(arrow_of(theirs), columns))


def add_cases(suite, pml, seed):
    for i, (name, (schema, fixed)) in enumerate(tables.matrix().items()):
        schema["fields"] = [f for f in schema["fields"] if not f["type"].startswith(NO_TYPE)]
        if "bucket" in schema["options"] and "q" in fixed:
            fixed["q"] = tables.one_of("7", "-9223372036854775808")  # its writer compares a null with a number and fails
        live = i % 2 == 1
        if live:
            schema["options"]["realtime.enabled"] = "true"
        suite.case(f"{'live, ' if live else ''}{name}", both_ways, pml, schema, fixed, seed + i, live)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases with this in their name")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", random.randrange(1 << 31))))
    parser.add_argument("--keep", metavar="DIR", help="leave the tables in this new directory")
    args = parser.parse_args()
    if not os.environ.get("PML"):
        parser.error("PML does not name the command")
    print(f"pypaimon {importlib.metadata.version('pypaimon')}, SEED={args.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        suite = support.Suite(args.keep or scratch, args.only)
        add_cases(suite, support.Pml(os.environ["PML"]), args.seed)
        return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
