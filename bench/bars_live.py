# SPDX-License-Identifier: Apache-2.0
"""Bars of live writes, of what they show, and of the prepare beside them."""
from bars import ARROW, Bar, PYPAIMON, figure, ours, peer, rate, ratio

ROWS, MILLION = 100_000, 1_000_000
TRUSTED = "realtime.validate-input=trusted"
prepare, append = ours("prepare", MILLION), ours("append", MILLION, "bucket=1", "bucket-key=id")
beside = ours("prepare-writes", MILLION)
checked, trusted = ours("one-row", ROWS), ours("one-row", ROWS, TRUSTED)
moved, moved_trusted = ours("moved", 1), ours("moved", 1, TRUSTED)


def freshness(rows, mode):
    run = ours("freshness", rows, f"realtime.store.stats-mode={mode}")
    return figure(f"freshness, {rows:,} rows in memory, {mode}", 0.3, "ms", run, "fresh_ms_p50")


BARS = [
    ratio("prepare and commit of 1 M rows to append", 1.1, prepare, append),
    Bar("p99 of writes beside a prepare to alone", 2, "x", [beside],
        lambda r: r.best(beside, "busy_ms_p99") / r.best(beside, "quiet_ms_p99")),
    figure("longest write beside a prepare", None, "ms", beside, "busy_ms_max"),
    rate("one-row writes, trusted", 1, trusted),
    rate("one-row writes, all values checked", 1, checked),
    figure("memory of a row, one-row writes", 300, "B", checked, "bytes_a_row"),
    figure("moved batch of 20,000 rows, trusted, p50", 10, "us", moved_trusted, "write_ms_p50", 1000),
    figure("moved batch of 20,000 rows, all values checked, p50", None, "us", moved, "write_ms_p50", 1000),
    figure("moved batch, all values checked, cost of a row", None, "ns", moved, "ns_a_row"),
    rate("reading 100,000 one-row writes", 20, ours("read-back", ROWS)),
    rate("live writes of 1,000 rows", None, ours("live", 2 * MILLION)),
    ratio("live writes to one copy by Arrow", None, ours("live", 2 * MILLION), peer(ARROW, "live", 2 * MILLION)),
    *[freshness(rows, mode) for rows in (0, ROWS, MILLION) for mode in ("keys", "full")],
    ratio("freshness to Arrow's filter", None, ours("freshness", 0), peer(ARROW, "freshness", ROWS), "fresh_ms_p50"),
    ratio("freshness to commit and read of pypaimon", None, ours("freshness", 0), peer(PYPAIMON, "freshness", ROWS),
          "fresh_ms_p50"),
]
