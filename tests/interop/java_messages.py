# SPDX-License-Identifier: Apache-2.0
"""Java commits messages that pml prepared. Those of dynamic buckets go on behind what Java reads (docs/protocol.md 5)."""
import os
import random

import exchange
import support
import tables

MAGIC = b"PMLK"


def add_cases(suite, pml, java, seed):
    suite.case("messages: dynamic buckets", dynamic_buckets, pml, java, seed)


def schema():
    made = tables.schema(["STRING"], [("p", "INT NOT NULL")], {"bucket": "-1", "dynamic-bucket.target-row-num": "20", "write-only": "true"})
    made["primaryKeys"] = ["p", "id"]
    return made


class Handed:
    """A table whose rows pml prepares and Java commits; rows: what it must hold."""

    def __init__(self, folder, pml, java, seed):
        self.folder, self.pml, self.java, self.rnd = folder, pml, java, random.Random(seed)
        self.library, self.table, self.rows, self.steps = exchange.Library(pml), os.path.join(folder, "t"), {}, 0
        pml("table", "create", self.table, tables.text(schema()))

    def file(self, ids):
        self.steps += 1
        lines = []
        for id in ids:
            key = (id % 2, id)
            self.rows[key] = f'{{"_kind":"+I","id":{id},"p":{key[0]},"v0":"step {self.steps} of {id}"}}'
            lines.append(self.rows[key])
        self.rnd.shuffle(lines)
        return support.write_rows(os.path.join(self.folder, f"step{self.steps}.jsonl"), lines)

    def verify(self, what):
        want = sorted(self.rows.values(), key=str.encode)
        support.equal(f"{what}: Java reads", want, self.java.dump(self.table))
        support.equal(f"{what}: pml reads", want, self.pml.dump(self.table))

    def prepared(self, ids):
        return self.library.prepare(self.table, self.file(ids))

    def commit(self, messages, what):
        """Java must take its own bytes out of each message, and what is left must be ours."""
        path = exchange.write_messages(os.path.join(self.folder, f"messages{self.steps}"), messages)
        lengths = self.java("commit", self.table, path, "--version", exchange.MESSAGE_VERSION, "--user", "handed")
        rest = [m[int(n):][:len(MAGIC)] if int(n) > 0 else n for m, n in zip(messages, lengths, strict=True)]
        support.equal(f"{what}: where Java's bytes end", [MAGIC] * len(messages), rest)
        self.verify(what)


def dynamic_buckets(folder, pml, java, seed):
    t = Handed(folder, pml, java, seed)
    messages = t.prepared(range(70))
    support.equal("buckets of 70 keys in two partitions", 4, len(messages))
    t.commit(messages, "new keys")
    t.commit(t.prepared(range(60, 90)), "old keys and new ones")
    t.commit(t.prepared(range(0, 50, 3)), "old keys only")  # no new index file: the bucket's own is told behind
    t.pml("ingest", t.table, t.file(range(40, 120)))
    t.verify("pml's own commit after Java's")
    t.java.append(t.table, t.file(range(100, 140)), "--write-only")
    t.verify("Java's own rows")
    t.commit(t.prepared(range(130, 150)), "after Java's own rows")
    t.java("compact", t.table, "--full", "--option", "write-only=false")
    t.verify("compacted")
    t.commit(t.prepared(range(0, 150, 7)), "after the compaction")
