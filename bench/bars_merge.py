# SPDX-License-Identifier: Apache-2.0
"""Bars of merge on read: tables that Java Paimon wrote and nobody compacted. Rows are those that were written: merges give fewer."""
from bars import ARROW, JavaTable, figure, ours, peer, ratio

TEN, FIVE, BUCKETS = JavaTable(10, 1_000_000, 1), JavaTable(5, 1_000_000, 1), JavaTable(10, 1_000_000, 4)

ten, five = ours("scan", 0, table=TEN), ours("scan", 0, table=FIVE)
arrow_ten, arrow_five = (peer(ARROW, "scan", 0, t) for t in (TEN, FIVE))
keys = ours("keys", 0, table=FIVE)
held, runs = ours("lookup-memory", 1_000_000), ours("lookup-disk", 1_000_000)

BARS = [
    ratio("merge on read of 10 runs to plain Arrow", 1.4, ten, arrow_ten),
    ratio("merge on read of 5 runs to plain Arrow", 1.3, five, arrow_five),
    figure("merge on read of 10 runs, peak memory", 256, "MiB", ten, "peak_mb"),
    ratio("merge on read of 4 buckets, two threads to one, wall", 0.6, ours("scan-threads", 0, table=BUCKETS),
          ours("scan", 0, table=BUCKETS), "seconds"),
    figure("row of a key in 5 runs, plan included, p50", 10, "ms", keys, "key_ms_p50"),
    figure("row of a key in 5 runs, plan included, CPU p50", None, "ms", keys, "key_cpu_ms_p50"),
    figure("lookup in memory, 1 M rows, p50", 20, "us", held, "key_ms_p50", 1000),
    figure("lookup in memory, 1 M rows, p99", None, "us", held, "key_ms_p99", 1000),
    figure("lookup in 5 runs of 1 M rows, p50", 10, "ms", runs, "key_ms_p50"),
    figure("lookup in 5 runs of 1 M rows, p99", None, "ms", runs, "key_ms_p99"),
]
