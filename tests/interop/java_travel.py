# SPDX-License-Identifier: Apache-2.0
"""The same snapshot by tag, time and watermark: Java and pml asked the same question give the same rows, or both an error."""
import json
import os
import random

import java_live
import rows
import support
import tables


def add_cases(suite, pml, java, seed):
    suite.case("travel: tags", tags, pml, java, seed)
    suite.case("travel: tags of a live table", live_tags, pml, java, seed)
    for i in range(6):
        suite.case(f"travel: times and watermarks {i}", times, pml, java, seed + i)
    suite.case("travel: columns are those of the snapshot", columns, pml, java, seed)


def same(pml, java, table, ours, theirs):
    """Rows, or None when both refuse."""
    ok, out = java.run("dump", table, *theirs)
    done = pml.run("dump", table, *ours)
    question = " ".join(map(str, ours))
    if not ok:
        support.equal(f"exit code of pml for {question}, which Java refuses", 4, done.code)
        return None
    if done.code != 0:
        raise support.Wrong(f"Java answers {question}, pml says {done.err}")
    lines = support.lines_of(out)
    support.equal(f"rows for {question}", lines, support.lines_of(done.out))
    return lines


def by_tag(pml, java, table, name):
    return same(pml, java, table, ["--tag", name], ["--tag", name])


def tags(folder, pml, java, seed):
    table = os.path.join(folder, "t")
    made = rows.Columns(tables.schema(tables.FEW)).rows(random.Random(seed), 60)
    pml("table", "create", table, tables.text(tables.schema(tables.FEW)))
    for i in range(6):
        file = support.write_rows(os.path.join(folder, f"rows{i}.jsonl"), made[i * 10:i * 10 + 10])
        pml("load", table, file) if i % 2 else java.append(table, file)
    for name, snapshot in (("first", 1), ("a b", 3), ("2026-11-30", 4), ("last", 6)):
        java("tag", table, name, "--snapshot", snapshot)
        support.equal(f"rows of tag {name}", rows.in_order(made[:10 * snapshot]), by_tag(pml, java, table, name))
    java("expire", table, "--retain", "1")
    for name, snapshot in (("first", 1), ("a b", 3)):
        support.equal(f"rows of tag {name} after expiry", rows.in_order(made[:10 * snapshot]), by_tag(pml, java, table, name))
    support.equal("a tag that is not there", None, by_tag(pml, java, table, "none"))
    support.equal("pml reads the option, too", java.dump(table, "--tag", "first"), pml.dump(table, "--option", "scan.tag-name=first"))
    pml("load", table, os.path.join(folder, "rows0.jsonl"))
    support.equal("count by tag", 30, pml.count(table, "--tag", "a b"))


def live_tags(folder, pml, java, seed):
    """A tag keeps the progress of its snapshot."""
    t = java_live.Live(folder, pml, java, seed)
    t.live(20)
    kept = rows.in_order(t.lines)
    java("tag", t.table, "live")
    t.java_append(5)
    t.live(10)
    t.java_compact("--full")
    support.equal("rows of the tag", kept, by_tag(pml, java, t.table, "live"))
    java("expire", t.table, "--retain", "1")
    support.equal("rows of the tag after expiry", kept, by_tag(pml, java, t.table, "live"))
    with open(os.path.join(t.table, "tag", "tag-live"), encoding="utf-8") as f:
        support.equal("the tag names a progress file", True, "realtime.offsets" in json.load(f)["properties"])


def rewrite(table, snapshot, time, watermark):
    path = os.path.join(table, "snapshot", f"snapshot-{snapshot}")
    with open(path, encoding="utf-8") as f:
        content = json.load(f)
    content["timeMillis"] = time
    content.pop("watermark", None)
    if watermark is not None:
        content["watermark"] = watermark
    with open(path, "w", encoding="utf-8") as f:
        json.dump(content, f)


def times(folder, pml, java, seed):
    """Times and watermarks that repeat, and the first snapshots without a watermark."""
    rnd = random.Random(seed)
    table = os.path.join(folder, "t")
    n = rnd.randrange(2, 10)
    schema = tables.schema(["INT"])
    made = rows.Columns(schema).rows(rnd, n)
    java("create", table, tables.text(schema))
    for i in range(n):
        java.append(table, support.write_rows(os.path.join(folder, "row.jsonl"), made[i:i + 1]))
    time, watermark, without = 10, 10, rnd.randrange(n)
    for i in range(1, n + 1):
        time += rnd.choice((0, 0, 1, 2))
        watermark += rnd.choice((0, 0, 1, 3))
        rewrite(table, i, time, watermark if i > without else None)
    if n > 3 and seed % 2:
        for i in (1, 2):
            os.remove(os.path.join(table, "snapshot", f"snapshot-{i}"))
        os.remove(os.path.join(table, "snapshot", "EARLIEST"))
    answers = set()
    for t in range(8, time + 3):
        answers.add(str(same(pml, java, table, ["--timestamp", t], ["--option", f"scan.timestamp-millis={t}"])))
    for w in range(8, watermark + 3):
        answers.add(str(same(pml, java, table, ["--watermark", w], ["--option", f"scan.watermark={w}"])))
    support.equal("there are several answers", True, len(answers) > 1)


def columns(folder, pml, java, seed):
    table = os.path.join(folder, "t")
    schema = tables.schema(tables.FEW)
    made = rows.Columns(schema).rows(random.Random(seed), 10)
    java("create", table, tables.text(schema))
    java.append(table, support.write_rows(os.path.join(folder, "rows.jsonl"), made))
    java("tag", table, "before")
    java("alter", table, '[{"op":"add","column":"extra","type":"INT"}]')
    support.equal("columns of the tag", rows.in_order(made), by_tag(pml, java, table, "before"))
