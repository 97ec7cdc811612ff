# SPDX-License-Identifier: Apache-2.0
"""The schemas that the suites make tables of: name -> (schema, values of some columns)."""
import json

SCALARS = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,3)", "DECIMAL(18,2)", "DECIMAL(25,4)",
           "DECIMAL(38,10)", "CHAR(5)", "VARCHAR(30)", "STRING", "BINARY(4)", "VARBINARY(12)", "BYTES", "DATE", "TIME(0)", "TIME(3)",
           "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(0) WITH LOCAL TIME ZONE",
           "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE"]
NESTED = ["ARRAY<INT>", "ARRAY<STRING NOT NULL>", "ARRAY<ARRAY<BIGINT>>", "MAP<STRING,INT>", "MAP<INT,ARRAY<STRING>>",
          "MULTISET<STRING>", "ROW<x INT, y STRING>", "ARRAY<ROW<a DATE, b DECIMAL(20,2)>>",
          "ROW<l ARRAY<INT>, m MAP<STRING,DECIMAL(20,2)>, r ROW<t TIMESTAMP(6), u BYTES>>"]
FEW = ["STRING", "BIGINT", "DOUBLE", "DECIMAL(12,2)", "TIMESTAMP(3)"]


def schema(types, partition=(), options=None, comment=None, first="INT NOT NULL"):
    """Column id, then a column for each partition key (name, type), then v0, v1, ... of the types."""
    fields = [("id", first)] + list(partition) + [(f"v{i}", t) for i, t in enumerate(types)]
    made = {"fields": [{"name": n, "type": t} for n, t in fields], "partitionKeys": [n for n, _ in partition], "primaryKeys": [],
            "options": options or {}}
    if comment is not None:
        made["comment"] = comment
    return made


def one_of(*texts):
    return lambda rnd: rnd.choice(texts)


INT_PARTITION = one_of("1", "2", "-3", "null")
STRING_PARTITION = one_of('"a"', '"b c"', '"x=y/z%"', '"\u00e9\u96f6"', '""', '" "', "null")


def matrix():
    made = {
        "scalar types": (schema(SCALARS), {}),
        "scalar types not null": (schema([t + " NOT NULL" for t in SCALARS]), {}),
        "nested types": (schema(NESTED), {}),
        "partition by int": (schema(FEW, [("p", "INT")]), {"p": INT_PARTITION}),
        "partition by string": (schema(FEW, [("p", "STRING")]), {"p": STRING_PARTITION}),
        "partition by date": (schema(FEW, [("p", "DATE")]), {"p": one_of('"2024-02-29"', '"1969-12-31"', "null")}),
        "partition by date as text": (schema(FEW, [("p", "DATE")], {"partition.legacy-name": "false"}),
                                      {"p": one_of('"2024-02-29"', '"1969-12-31"', "null")}),
        "partition by two": (schema(FEW, [("p", "STRING NOT NULL"), ("q", "BIGINT")], {"bucket": "3", "bucket-key": "id"}),
                             {"p": one_of('"a"', '"b"'), "q": one_of("7", "-9223372036854775808", "null")}),
        "partition by bool and timestamp": (schema(FEW, [("p", "BOOLEAN"), ("q", "TIMESTAMP(3)")]),
                                            {"p": one_of("true", "false"), "q": one_of('"2023-11-14T22:13:20.000"', "null")}),
        "four buckets by int": (schema(FEW, options={"bucket": "4", "bucket-key": "id"}), {}),
        "buckets by many": (schema(FEW + ["DATE", "DECIMAL(25,4)", "TIMESTAMP(6)", "BYTES"],
                                   options={"bucket": "5", "bucket-key": "v0,v3,v4,v5,v6,v7,v8"}), {}),
        "mod buckets": (schema(FEW, options={"bucket": "3", "bucket-key": "id", "bucket-function.type": "mod"}), {}),
        "mod buckets by bigint": (schema(FEW, options={"bucket": "3", "bucket-key": "v1", "bucket-function.type": "mod"}), {}),
        "comments": (schema(FEW, options={"owner": "somebody", "x.y": "\u00e9"}, comment="a \"comment\""), {}),
    }
    made["comments"][0]["fields"][1]["description"] = "the \u00e9 column"
    for mode in ("none", "counts", "full", "truncate(4)"):
        made[f"statistics {mode}"] = (schema(SCALARS, options={"metadata.stats-mode": mode}), {})
    made["statistics by column"] = (schema(FEW, options={"metadata.stats-mode": "none", "fields.v0.stats-mode": "full",
                                                         "fields.v1.stats-mode": "counts", "fields.v3.stats-mode": "truncate(3)"}), {})
    made["statistics not dense"] = (schema(FEW, options={"metadata.stats-mode": "counts", "metadata.stats-dense-store": "false"}), {})
    # Without dictionaries whole numbers are DELTA_BINARY_PACKED.
    delta = {"parquet.enable.dictionary": "false"}
    made["delta encodings"] = (schema(SCALARS, options=delta), {})
    made["delta encodings not null"] = (schema([t + " NOT NULL" for t in SCALARS], options=delta), {})
    made["delta encodings beside nested"] = (schema(FEW + NESTED, options=delta), {})
    made["plain encodings"] = (schema(SCALARS, options={**delta, "parquet.enable.delta": "false"}), {})
    for codec in ("none", "snappy", "gzip", "lz4", "zstd"):
        made[f"compression {codec}"] = (schema(FEW, options={"file.compression": codec}), {})
    for codec in ("null", "snappy", "deflate", "zstd"):
        made[f"manifest compression {codec}"] = (schema(FEW, options={"manifest.compression": codec}), {})
    return made


def text(made):
    return json.dumps(made, ensure_ascii=False)
