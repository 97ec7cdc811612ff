# SPDX-License-Identifier: Apache-2.0
"""Bars of scans and plans."""
from bars import ARROW, FILES, PYPAIMON, RUST, SCAN, figure, ours, peer, ratio

scan, arrow = ours("scan", SCAN, table=SCAN), peer(ARROW, "scan", SCAN)
basic = ours("scan", SCAN, "read.validate=basic", table=SCAN)
threads = ours("scan-threads", SCAN, table=SCAN)
point = ours("point", SCAN, table=SCAN)
plan, plan_rust = ours("plan", FILES, table=FILES), peer(RUST, "plan", FILES, FILES)

BARS = [
    figure("scan, CPU seconds", None, "s", scan, "cpu_seconds"),
    figure("scan of plain Arrow, CPU seconds", None, "s", arrow, "cpu_seconds"),
    ratio("scan, full validation, to plain Arrow", 1.2, scan, arrow),
    ratio("scan, basic validation, to plain Arrow", 1.1, basic, arrow),
    ratio("scan by two threads to one, wall", 0.6, threads, scan, "seconds"),
    ratio("scan to pypaimon", None, scan, peer(PYPAIMON, "scan", SCAN)),
    figure("row of an id, CPU", None, "ms", point, "cpu_seconds", 1000),
    ratio("row of an id to plain Arrow", None, point, peer(ARROW, "point", SCAN)),
    ratio("row of an id to pypaimon-rust", None, point, peer(RUST, "point", SCAN)),
    figure("plan of files, 100 a manifest, CPU", None, "ms", plan, "cpu_seconds", 1000),
    ratio("plan of files to pypaimon-rust", 1, plan, plan_rust),
    ratio("plan of files to pypaimon-rust, wall", None, plan, plan_rust, "seconds"),
]
