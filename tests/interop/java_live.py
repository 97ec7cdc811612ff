# SPDX-License-Identifier: Apache-2.0
"""Live writes of pml with Java at work between the commits. Java's commits drop the snapshot property that records our progress;
what counts is the effective progress: kept over appends and compactions, begun anew by a truncate, lost by an overwrite of rows
that were ours (unless the table says otherwise)."""
import json
import os
import subprocess
import time

import java_mixed
import rows
import support
import tables

ANEW = ("ok", "reset")


class Live(java_mixed.Shared):
    """Also knows how many rows each partition took live since its history began."""
    keys = False

    def __init__(self, folder, pml, java, seed, partition=True, options=None, buckets=True):
        made = {"realtime.enabled": "true", **({"bucket": "2", "bucket-key": "id"} if buckets else {}), **(options or {})}
        schema = tables.schema(tables.FEW, [("p", "INT NOT NULL")] if partition else [], made)
        if self.keys:
            schema["primaryKeys"] = ["id"] + schema["partitionKeys"]
        super().__init__(folder, pml, java, schema, {"p": tables.one_of("1", "2", "3")} if partition else {}, seed)
        self.user = ["--user", "live"]
        self.tiered = {}
        self.lost = ()  # partitions whose progress nobody can tell
        pml("table", "create", self.table, tables.text(schema))

    def partition_of(self, line):
        return rows.cells_of(line).get("p", "")

    def live(self, n, *args, **values):
        before = len(self.lines)
        self.ingest(n, "--live", *self.user, *args, **values)
        for line in self.lines[before:]:
            p = self.partition_of(line)
            self.tiered[p] = self.tiered.get(p, 0) + 1
        self.check_progress(f"live ingest, step {self.steps}")

    def live_fails(self, n, *args, **values):
        """Nothing of a refused ingest may be in the table."""
        file = self.file(self.new_rows(n, **values))
        done = self.pml.run("ingest", self.table, file, "--live", *self.user, *args)
        support.equal("a live write over lost progress is refused", True, done.code != 0)
        self.verify("a refused live write")

    def check_progress(self, after):
        lost, sums, states = self.lost, {}, {}
        for (partition, _), o in self.pml.offsets(self.table).items():
            states.setdefault(partition, set()).add(o["state"])
            sums[partition] = sums.get(partition, 0) + int(o["tiered"] or 0)
        for partition, found in states.items():
            if partition in lost:
                support.equal(f"states of partition {partition!r} after {after}", {"lost"}, found)
            elif not found <= set(ANEW):
                raise support.Wrong(f"partition {partition!r} after {after}: states {found}")
        for partition, n in self.tiered.items():
            if partition not in lost:
                support.equal(f"sum of offsets of partition {partition!r} after {after}", n, sums.get(partition, 0))


class Keyed(Live):
    """The same with a primary key. No two rows have one, so the table holds the same rows."""
    keys = True


def add_cases(suite, pml, java, seed):
    for i, partition in enumerate((False, True)):
        kind = "partitions" if partition else "no partitions"
        for step in (restarts, java_between, truncated):
            suite.case(f"live keys: {step.__name__}, {kind}", step, pml, java, seed + i, partition, Keyed)
    for step in (our_overwrites, overwrite_elsewhere, expired, property_kept, rolled_back):
        suite.case(f"live keys: {step.__name__}", step, pml, java, seed, Keyed)
    for policy in ("ask", "inherit", "reset"):
        suite.case(f"live keys: overwritten, policy {policy}", overwritten, pml, java, seed, policy, Keyed)
    for i, partition in enumerate((False, True)):
        kind = "partitions" if partition else "no partitions"
        suite.case(f"live: restarts, {kind}", restarts, pml, java, seed + i, partition)
        suite.case(f"live: Java between commits, {kind}", java_between, pml, java, seed + i, partition)
        suite.case(f"live: Java truncates, {kind}", truncated, pml, java, seed + i, partition)
    suite.case("live: pml overwrites, Java in between", our_overwrites, pml, java, seed)
    suite.case("live: unaware buckets", unaware, pml, java, seed)
    for policy in ("ask", "inherit", "reset"):
        suite.case(f"live: Java INSERT OVERWRITE, policy {policy}", overwritten, pml, java, seed, policy)
    suite.case("live: overwrite of untouched partitions loses nothing", overwrite_elsewhere, pml, java, seed)
    suite.case("live: Java expires the snapshot that held the progress", expired, pml, java, seed)
    suite.case("live: Java reads the progress property", property_kept, pml, java, seed)
    for partition in (False, True):
        suite.case(f"live: the progress is written again, {'partitions' if partition else 'no partitions'}", reanchored, pml, java, seed, partition)
    suite.case("live: Java rolls back", rolled_back, pml, java, seed)


def restarts(folder, pml, java, seed, partition, make=Live):
    t = make(folder, pml, java, seed, partition)
    t.live(40, "--commit-every", 7)
    t.live(25, "--commit-every", 10)
    t.live(1)
    t.load(10)  # an ordinary writer has no offsets
    t.check_progress("pml load")
    t.live(12)


def java_between(folder, pml, java, seed, partition, make=Live):
    t = make(folder, pml, java, seed, partition)
    t.live(30, "--commit-every", 10)
    t.java_append(10)
    t.check_progress("Java append")
    t.live(20)
    t.java_compact("--full")
    t.check_progress("Java compact")
    t.java_append(5)
    t.java_append(5)
    t.check_progress("two Java appends")
    t.live(15, "--commit-every", 5)
    t.java_compact()
    t.live(5)


def truncated(folder, pml, java, seed, partition, make=Live):
    t = make(folder, pml, java, seed, partition)
    t.live(40, "--commit-every", 20)
    if partition:
        t.java_truncate("p=1", doomed=lambda cells: cells["p"] == "1")
        t.tiered["1"] = 0
        t.check_progress("Java truncate p=1")
        t.live(10, p="1")
        t.live(10)
    t.java_append(3)
    t.java_truncate()
    t.tiered = {p: 0 for p in t.tiered}
    t.check_progress("Java truncate")
    t.java_append(3)
    t.live(20, "--commit-every", 10)
    t.live(5)


def our_overwrites(folder, pml, java, seed, make=Live):
    """Our own truncate, drop and overwrite say what begins anew; Java's commits in between drop the property and change nothing."""
    t = make(folder, pml, java, seed)
    t.live(40, "--commit-every", 20)
    t.java_append(5)
    t.drop_partition("p=1", doomed=lambda cells: cells["p"] == "1")
    t.tiered["1"] = 0
    t.check_progress("pml drop-partition p=1")
    t.java_append(5)
    t.java_compact("--full")
    t.check_progress("Java append and compact")
    t.live(15)
    t.overwrite(4, ["p=2"], lambda cells: cells["p"] == "2", p="2")
    t.tiered["2"] = 0
    t.check_progress("pml ingest --overwrite --partition p=2")
    t.java_append(3)
    t.live(10)
    t.overwrite(3, [], lambda cells: cells["p"] == "3", p="3")
    t.tiered["3"] = 0
    t.check_progress("pml ingest --overwrite")
    t.truncate()
    t.tiered = {p: 0 for p in t.tiered}
    t.check_progress("pml table truncate")
    t.java_append(3)
    t.java_truncate()
    t.live(10, "--commit-every", 5)
    java("expire", t.table, "--retain", "2")
    t.check_progress("Java expire")
    t.live(5)


def unaware(folder, pml, java, seed):
    t = Live(folder, pml, java, seed, buckets=False)
    t.live(30, "--commit-every", 10)
    t.java_append(10)
    t.java_compact("--full")
    t.check_progress("Java compact")
    t.live(10)


def overwritten(folder, pml, java, seed, policy, make=Live):
    t = make(folder, pml, java, seed, options={"realtime.foreign-overwrite": policy})
    t.live(45, "--commit-every", 15)
    t.java_overwrite(6, "p=2", lambda cells: cells["p"] == "2", p="2")
    if policy == "ask":
        t.lost = ("2",)
        t.check_progress("INSERT OVERWRITE")
        t.live(10, p="1")
        t.live_fails(4, p="2")
        pml("offsets", "repair", t.table, "--last-known")
        t.lost = ()
        t.check_progress("repair with the last known ends")
        t.live(5, p="2")
        t.java_append(3)
        t.live(10)
        return
    if policy == "reset":
        t.tiered["2"] = 0
    t.check_progress("INSERT OVERWRITE")
    t.live(20)


def overwrite_elsewhere(folder, pml, java, seed, make=Live):
    t = make(folder, pml, java, seed)
    t.live(20, p="1")
    t.java_append(5, p="9")
    t.java_overwrite(4, "p=9", lambda cells: cells["p"] == "9", p="9")
    t.check_progress("INSERT OVERWRITE of a partition without live rows")
    t.live(10, p="9")
    t.live(10, p="1")


def expired(folder, pml, java, seed, make=Live):
    t = make(folder, pml, java, seed)
    t.live(20)
    for _ in range(3):
        t.java_append(3)
    java("expire", t.table, "--retain", "1")
    t.verify("Java expire")
    lost = {o["state"] for o in pml.offsets(t.table).values()}
    if lost - {"lost"}:
        raise support.Wrong(f"progress after the expiry of its snapshot: {lost}")
    t.live_fails(5)
    java("tag", t.table, "kept")
    words = [f"p={p}/bucket-{b}={n}" for (p, b), n in counted(t).items()]
    pml("offsets", "repair", t.table, *words)
    t.tiered = {}
    for (p, _), n in counted(t).items():
        t.tiered[p] = t.tiered.get(p, 0) + n
    t.check_progress("repair after the anchor expired")
    t.live(10)
    java("expire", t.table, "--retain", "1")
    pml("offsets", "clean", t.table, "--older-than", "0s")
    t.check_progress("clean")
    t.live(5)


def counted(t):
    """(partition, bucket) -> rows in its files."""
    found = {}
    for line in t.pml("files", t.table, "--format", "json"):
        f = json.loads(line)
        key = (f["partition"].split("=")[1], f["bucket"])
        found[key] = found.get(key, 0) + f["record_count"]
    return found


def property_kept(folder, pml, java, seed, make=Live):
    """Java shows our property, and the file that it names is in the table."""
    t = make(folder, pml, java, seed)
    t.live(20)
    t.java_append(3)
    snapshots = [s["snapshot"] for s in java.inspect(t.table)["snapshots"]]
    support.equal("snapshots with the property", [True, False], ["realtime.offsets" in s.get("properties", {}) for s in snapshots])
    name = snapshots[0]["properties"]["realtime.offsets"]
    with open(os.path.join(t.table, "metadata", os.path.basename(name)), encoding="utf-8") as f:
        support.equal("sum of the file's offsets", 20, sum(o["offset"] for o in json.load(f)["offsets"]))


def reanchored(folder, pml, java, seed, partition):
    """Java drops the property; a live writer without a commit for a while writes it again, Java reads and commits on top, and its
    expiry of all before loses nothing."""
    t = Live(folder, pml, java, seed, partition)
    t.live(20)
    t.java_append(5)
    lines = t.new_rows(10)
    writer = pml.start("ingest", t.table, "-", "--format", "json", "--live", *t.user, "--commit-every", "10", "--option",
                       "realtime.reanchor-interval=1 ms", stdin=subprocess.PIPE)
    time.sleep(0.5)  # the writer opens; longer only makes the test slower
    out, err = writer.communicate(rows.as_bytes(lines), support.SECONDS_PER_CALL)
    support.equal("exit code of the ingest: " + err.decode("utf-8", "replace"), 0, writer.returncode)
    t.lines += lines
    for line in lines:
        p = t.partition_of(line)
        t.tiered[p] = t.tiered.get(p, 0) + 1
    t.verify("re-anchoring")
    t.check_progress("re-anchoring")
    snapshots = [s["snapshot"] for s in java.inspect(t.table)["snapshots"]]
    support.equal("kinds of the snapshots", ["APPEND"] * 4, [s["commitKind"] for s in snapshots])
    support.equal("the third is an anchor", True, snapshots[2]["commitUser"].startswith("pml-reanchor-"))
    support.equal("its rows", 0, snapshots[2]["deltaRecordCount"])
    support.equal("its progress", snapshots[0]["properties"], snapshots[2]["properties"])
    t.java_append(5)
    t.java_compact("--full")
    t.check_progress("Java on top of an anchor")
    java("rollback", t.table, "3")
    t.lines, t.tiered = t.lines[:25], {}
    for line in t.lines[:20]:
        p = t.partition_of(line)
        t.tiered[p] = t.tiered.get(p, 0) + 1
    t.verify("Java rollback to the anchor")
    java("expire", t.table, "--retain", "1")
    t.verify("Java expire")
    for p in ("1", "2", "3") if partition else ():
        t.tiered.setdefault(p, 0)
    t.check_progress("the expiry of all before the anchor")
    t.live(10)


def rolled_back(folder, pml, java, seed, make=Live):
    t = make(folder, pml, java, seed)
    t.live(10)
    kept, tiered = list(t.lines), dict(t.tiered)
    t.live(10)
    java("rollback", t.table, "1")
    t.lines, t.tiered = kept, tiered
    t.verify("Java rollback")
    for p in ("1", "2", "3"):
        t.tiered.setdefault(p, 0)
    t.check_progress("Java rollback")
    t.live(8)
