# SPDX-License-Identifier: Apache-2.0
"""Bars of live rows with a primary key: one bucket, deduplicate, ids in no order, each once."""
from bars import Bar, KEYED, figure, ours, rate, ratio

ROWS, MILLION, FEW = 100_000, 1_000_000, 10_000
TRUSTED = "realtime.validate-input=trusted"
union = ours("keys-union", KEYED, table=KEYED)
plain = ours("read-back-batches", MILLION)  # the rows in memory of the union, without keys
reads = {n: ours(f"keys-read-{n}", MILLION) for n in (100, 1000, 10000)}
single, whole = ours("keys-read-1", FEW), ours("keys-read-10000", FEW)
readers = ours("keys-fresh-readers", MILLION)

BARS = [
    rate("live keys, writes of 1,000 rows", 5, ours("keys-live", MILLION)),
    *[rate(f"live keys, 1 M rows written {n:,} at a time, read", 4, r) for n, r in reads.items()],
    *[figure(f"live keys, 1 M rows written {n:,} at a time, first batch", 20, "ms", r, "first_ms") for n, r in reads.items()],
    ratio("live keys, prepare of 1 M rows to append of them", 1.5, ours("keys-prepare", MILLION), ours("append-scattered", MILLION)),
    figure("live keys, runs of 10,000 one-row writes", 21, "", single, "runs"),
    *[Bar(f"live keys, {n} read of 10,000 one-row writes to that of one write", bar, "x", [single, whole],
          lambda r, k=n + "_cpu_seconds": r.best(single, k) / r.best(whole, k)) for n, bar in (("first", 2), ("second", None))],
    ratio("live keys, further reads of 10,000 one-row writes to one write", 2, single, whole),
    rate("live keys, one-row writes, trusted", 1, ours("keys-one-row", ROWS, TRUSTED)),
    rate("live keys, one-row writes, all values checked", 1, ours("keys-one-row", ROWS)),
    Bar("live keys, 10 runs and 1 M rows in memory to reading both", 1.15, "x", [union, plain],
        lambda r: r.best(union, "cpu_seconds") / (r.best(union, "disk_cpu_seconds") + r.best(plain, "cpu_seconds"))),
    *[figure(f"live keys, freshness, {n:,} rows in memory", 0.3, "ms", ours("keys-fresh", n), "fresh_ms_p50") for n in (0, ROWS, MILLION)],
    figure("live keys, freshness beside four readers, p99", 2, "ms", readers, "fresh_ms_p99"),
    figure("live keys, freshness beside four readers, p50", None, "ms", readers, "fresh_ms_p50"),
]
