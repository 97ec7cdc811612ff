# SPDX-License-Identifier: Apache-2.0
"""Bars of scans."""
from bars import figure, ours, peer, ratio

scan = ours("scan", source=True)

BARS = [
    figure("scan, CPU seconds", None, "s", scan, "cpu_seconds"),
    ratio("scan to plain Arrow", None, scan, peer("plain-arrow", "scan")),
    ratio("scan to pypaimon", None, scan, peer("pypaimon", "scan")),
]
