# SPDX-License-Identifier: Apache-2.0
"""Types that pml reads and does not write: random tables of Java with them, several commits, latest and each snapshot, some columns."""
import json
import os
import random

import rows
import support
import tables

ROWS, COMMITS = 40, 3
EVOLUTION = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
VARIANTS = ["VARIANT", "ROW<x INT, v VARIANT>", "ARRAY<VARIANT>", "MAP<STRING,VARIANT>", "STRING"]
VECTORS = ["VECTOR<FLOAT,4>", "VECTOR<DOUBLE,1>", "VECTOR<BIGINT,3>", "VECTOR<BOOLEAN,9>", "VECTOR<TINYINT,2>", "VECTOR<SMALLINT,5>", "VECTOR<INT,70>",
           "STRING"]
BLOBS = ["BLOB", "INT", "BLOB", "STRING", "BLOB"]
SHREDDING = """{"type":"ROW","fields":[{"name":"v0","type":{"type":"ROW","fields":[{"name":"a","type":"BIGINT"},{"name":"b","type":"STRING"},
{"name":"c","type":{"type":"ARRAY","element":"DECIMAL(20, 3)"}}]}}]}"""


def add_cases(suite, pml, java, seed):
    for name, options in {"plain": {}, "inferred": {"variant.inferShreddingSchema": "true"},
                          "given": {"variant.shreddingSchema": SHREDDING.replace("\n", "")}}.items():
        suite.case(f"types: variant {name}", read_both, pml, java, VARIANTS, {}, options, seed)
        suite.case(f"types: variant {name} with key", read_both, pml, java, VARIANTS, {"key": True}, options, seed)
    # Java 1.4.2 has no form for vectors in Parquet and ORC.
    suite.case("types: vector", read_both, pml, java, VECTORS, {}, {"file.format": "avro"}, seed)
    suite.case("types: vector with key", read_both, pml, java, VECTORS, {"key": True}, {"file.format": "avro"}, seed)
    suite.case("types: vector files", read_both, pml, java, VECTORS, {},
               {**EVOLUTION, "vector.file.format": "avro", "vector.target-file-size": "1 kb"}, seed)
    suite.case("types: blob", read_both, pml, java, BLOBS, {}, EVOLUTION, seed)
    suite.case("types: blobs in many files", read_both, pml, java, BLOBS, {}, {**EVOLUTION, "blob.target-file-size": "100 b"}, seed)
    suite.case("types: blobs of compacted files", read_both, pml, java, BLOBS, {"compacts": True},
               {**EVOLUTION, "blob.target-file-size": "100 b", "compaction.min.file-num": "2"}, seed)
    for engine in ("deduplicate", "first-row"):
        suite.case(f"types: clustered keys, {engine}", clustered, pml, java, engine, seed)


def clustered(folder, pml, java, engine, seed):
    """Files sorted by another column than the key; which rows count, deletion vectors say."""
    rnd, table = random.Random(seed), os.path.join(folder, "t")
    made = tables.schema(["BIGINT", "STRING", "INT"], options={"bucket": "1", "pk-clustering-override": "true", "clustering.columns": "v0",
                                                               "deletion-vectors.enabled": "true", "merge-engine": engine})
    made["primaryKeys"] = ["id"]
    java("create", table, tables.text(made))
    columns = rows.Columns(made, {"id": lambda r: str(r.randrange(2 * ROWS)), "v0": lambda r: str(r.randrange(50))})
    for i in range(2 * COMMITS):
        path = os.path.join(folder, f"{i}.jsonl")
        support.write_rows(path, [columns.row(rnd) for _ in range(ROWS)])  # deletes among them would have to be merged by key
        java.append(table, path)
        if rnd.randrange(2):
            java("compact", table)
        for args in [[], *[support.filter_args(p) for p in ({"eq": ["id", 7]}, {"lt": ["v0", 20]}, {"in": ["id", [1, 30, 55]]})]]:
            support.equal(f"rows {' '.join(args)}", java.dump(table, *args), pml.dump(table, *args))


def read_both(folder, pml, java, types, how, options, seed):
    rnd, table = random.Random(seed), os.path.join(folder, "t")
    made = tables.schema(types, options={"bucket": "1" if how.get("key") else "-1", **options})
    made["primaryKeys"] = ["id"] if how.get("key") else []
    java("create", table, tables.text(made))
    columns = rows.Columns(made, {"id": lambda r: str(r.randrange(ROWS))} if how.get("key") else {})
    for i in range(COMMITS):
        if i == COMMITS - 1 and not how.get("compacts"):  # of a column that only some of the files know Java cannot read what was compacted
            columns = evolve(java, table, made, types[0], columns.fixed)
        path = os.path.join(folder, f"{i}.jsonl")
        support.write_rows(path, [columns.row(rnd, None if how.get("key") else j + i * ROWS) for j in range(ROWS)])
        java.append(table, path)
    if "data-evolution.enabled" in options:
        change(folder, java, table, rnd)
    if how.get("compacts"):
        java("compact", table, "--full")
    snapshots = [["--snapshot", s] for s in range(1, COMMITS + 1)]
    for args in [[], *snapshots, ["--columns", f"id,v{len(types) - 1}"], ["--columns", made["fields"][1]["name"]]]:
        support.equal(f"rows {' '.join(map(str, args))}", java.dump(table, *args), pml.dump(table, *args))
    for predicate in ({"isnull": [made["fields"][1]["name"]]}, {"notnull": [made["fields"][-1]["name"]]}):
        support.equal(f"rows {predicate}", java.dump(table, *support.filter_args(predicate)), pml.dump(table, *support.filter_args(predicate)))


def evolve(java, table, made, kind, fixed):
    """One more column like the first of the types comes, and that gets another name, but for tables with data evolution: there Java renames no
    BLOB, and 1.4.2 loses rows when it reads a renamed column alone."""
    renames = "data-evolution.enabled" not in made["options"]
    java("alter", table, json.dumps([{"op": "rename", "column": "v0", "to": "w0"}] * renames + [{"op": "add", "column": "more", "type": kind}]))
    made["fields"][1]["name"] = "w0" if renames else "v0"
    made["fields"].append({"name": "more", "type": kind})
    return rows.Columns(made, fixed)


def change(folder, java, table, rnd):
    """A column of rows that have others in companions is written anew."""
    path = os.path.join(folder, "ids.jsonl")
    support.write_rows(path, [f'{{"id":{rnd.randrange(1000)}}}' for _ in range(ROWS)])
    java.append(table, path, "--columns", "id", "--first-row-id", ROWS)
