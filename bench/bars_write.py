# SPDX-License-Identifier: Apache-2.0
"""Bars of batch writes and commits."""
from bars import APPEND, ARROW, Bar, PYPAIMON, figure, ours, peer, ratio

DELTA_OFF = "parquet.enable.delta=false"
append, plain = ours("append"), ours("append", APPEND, DELTA_OFF)
routed = ours("append", APPEND, "bucket=4", "bucket-key=id")
arrow, pypaimon = peer(ARROW, "append"), peer(PYPAIMON, "append")
commit, live = ours("commit", 1), ours("commit-live", 1)
fast, one_sync = ours("commit", 1, "commit.durability=none"), ours("commit", 1, "commit.durability=file-system")

upsert, scattered = ours("upsert"), ours("append-scattered")

BARS = [
    figure("append, CPU seconds", None, "s", append, "cpu_seconds"),
    figure("append of plain Arrow, CPU seconds", None, "s", arrow, "cpu_seconds"),
    ratio("append, Arrow's encodings, to plain Arrow", 1.05, plain, arrow),
    ratio("append to plain Arrow", 0.9, append, arrow),
    Bar("file size to plain Arrow", 90, "%", [append, arrow],
        lambda r: 100 * r.best(append, "file_bytes") / r.best(arrow, "file_bytes")),
    ratio("append to one write_table of plain Arrow", None, append, peer(ARROW, "append_table")),
    ratio("append to pypaimon", None, append, pypaimon),
    ratio("append to 4 buckets to plain Arrow, one file", 1.25, routed, arrow),
    ratio("append to 4 buckets to one bucket", 1.25, routed, append),
    ratio("upsert to append of the same rows", 2, upsert, scattered),
    figure("one row and commit, best of 40", 3, "ms", commit, "commit_ms_min"),
    figure("one row and commit, syncs", 8, "", commit, "syncs"),
    figure("one row and commit, syncs when manifests merge", None, "", commit, "syncs_most"),
    figure("live row and commit, best of 40", 3, "ms", live, "commit_ms_min"),
    figure("live row and commit, syncs", 10, "", live, "syncs"),
    figure("one row and commit, durability off", 2, "ms", fast, "commit_ms_min"),
    figure("one row and commit, durability off, syncs", 0, "", fast, "syncs"),
    figure("one row and commit, file-system sync", None, "ms", one_sync, "commit_ms_min"),
    figure("one row and commit, file-system sync, syncs", 2, "", one_sync, "syncs"),
]
