# SPDX-License-Identifier: Apache-2.0
"""Java and pml commit to one table at the same time. Java tests for the snapshot file and then renames over it, so it can put its
snapshot over one of ours; our commit reads back what it published and goes on when it was replaced."""
import os
import random
import threading

import rows
import support
import tables

COMMITS = 30


def add_cases(suite, pml, java, seed):
    plain = {"commit.max-retries": "1000", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "20 ms"}
    buckets = {"bucket": "2", "bucket-key": "id", **plain}
    suite.case("at once: Java appends", at_once, pml, java, tables.schema(tables.FEW, options=plain), seed, False)
    suite.case("at once: Java appends and compacts", at_once, pml, java, tables.schema(tables.FEW, options=buckets), seed, True)
    suite.case("at once: one process in a tight loop", at_once, pml, java, tables.schema(["INT"], options=plain), seed, False, 120)
    suite.case("at once: one live process in a tight loop", at_once, pml, java,
               tables.schema(["INT"], options={"realtime.enabled": "true", **buckets}), seed, True, 120, ["--live"])


def at_once(folder, pml, java, schema, seed, compact, tight=0, options=()):
    """30 processes of pml one after the other, or `tight` commits of one process."""
    table = os.path.join(folder, "t")
    columns, rnd = rows.Columns(schema), random.Random(seed)
    pml("table", "create", table, tables.text(schema))
    ours = [columns.rows(rnd, 3, 10 * i) for i in range(tight or COMMITS)]
    theirs = [columns.rows(rnd, 3, 100000 + 10 * i) for i in range(tight or COMMITS)]
    failed, done = [], threading.Event()

    def load():
        try:
            if tight:
                file = support.write_rows(os.path.join(folder, "ours.jsonl"), sum(ours, []))
                pml("ingest", table, file, "--commit-every", 3, *options)
            for i, lines in enumerate([] if tight else ours):
                pml("load", table, support.write_rows(os.path.join(folder, f"ours{i}.jsonl"), lines))
        except Exception as e:  # handed to the thread that judges
            failed.append(e)
        finally:
            done.set()

    thread = threading.Thread(target=load)
    thread.start()
    appended = []
    for i, lines in enumerate(theirs):
        java.append(table, support.write_rows(os.path.join(folder, f"theirs{i}.jsonl"), lines), "--write-only")
        appended += lines
        # A compaction loses to any commit that took its files away, which ours never do.
        if compact and i % 5 == 4:
            java("compact", table, "--full")
        if done.is_set() and i >= COMMITS // 3:
            break
    thread.join()
    if failed:
        raise failed[0]
    want = rows.in_order(sum(ours, []) + appended)
    support.equal("pml after all commits", want, pml.dump(table))
    support.equal("Java after all commits", want, java.dump(table))
    ids = sorted(int(name.split("-")[1]) for name in os.listdir(os.path.join(table, "snapshot")) if name.startswith("snapshot-"))
    support.equal("snapshots without a gap", list(range(1, len(ids) + 1)), ids)
