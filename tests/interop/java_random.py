# SPDX-License-Identifier: Apache-2.0
"""Tables that follow from a seed, written by Java: engine, format, options, commits, compactions, schema changes. Both must read the same
rows: the latest, every snapshot, projections, random predicates, with and without threads. What pml refuses by name is counted, not wrong."""
import collections
import json
import os
import random
import re

import java_evolution
import rows
import support
import tables

ENGINES = ["append", "deduplicate", "partial-update", "first-row", "aggregation"]
VALUES = tables.SCALARS + ["ARRAY<INT>", "MAP<STRING,INT>", "ROW<x INT, y STRING>", "ARRAY<ROW<p INT, q STRING>>", "MULTISET<STRING>"]
KEYS = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "VARCHAR(30)", "CHAR(5)", "BYTES", "DATE", "TIME(3)", "DECIMAL(12,2)",
        "DECIMAL(25,4)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"]
SEQUENCES = ["INT", "BIGINT", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "DECIMAL(12,2)", "DECIMAL(25,4)", "STRING", "DOUBLE"]
NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
COMMITS, ROWS, PREDICATES = 7, 24, 5
NEGATIVE_TIME = re.compile(rb'"(?:-\d+:-?\d+|\d+:-\d+|\d+:\d+:-)')
FAR_YEAR = re.compile(rb'"[+-](?:\d{8,}|[6-9]\d{6}|5[89]\d{5})-\d\d-\d\dT')  # 5,879,610 and 2^31 days later
refused = collections.Counter()


def functions(t):
    """Aggregators for a column of this type."""
    some = ["last_value", "last_non_null_value", "first_value", "first_non_null_value"]
    if t.root == "ARRAY" and t.children[0].root == "ROW":
        return some + ["nested_update", "collect"]
    if t.root in ("ARRAY", "MAP"):
        return some + ["collect" if t.root == "ARRAY" else "merge_map"]
    if t.nested:
        return some
    if t.root == "BOOLEAN":
        return some + ["bool_and", "bool_or"]
    if t.root in NUMBERS:
        return some + ["sum", "product", "min", "max"]
    return some + ["min", "max"] + (["listagg"] if t.root in ("STRING", "VARCHAR") else [])


class RandomTable(java_evolution.Evolving):
    """Schema and options; `create` is asked again, as long as Java refuses what was drawn."""

    def __init__(self, folder, pml, java, seed):
        self.folder, self.pml, self.java, self.rnd = folder, pml, java, random.Random(seed)
        self.steps, self.names, self.unordered = 0, 0, set()
        for attempt in range(50):
            self.table = os.path.join(folder, f"t{attempt}")
            self.engine = self.rnd.choice(ENGINES)
            made = self.draw()
            ok, out = java.run("create", self.table, tables.text(made))
            if ok:
                break
        else:
            raise support.Wrong(f"Java makes none of these tables: {out[:600].decode()}")
        self.options = made["options"]

    def some(self, percent):
        return self.rnd.randrange(100) < percent

    def draw(self):
        rnd, pk = self.rnd, self.engine != "append"
        self.fixed, self.options, self.deletes = {"id": lambda r: str(r.randrange(2 * ROWS))}, {}, False
        keys, partition, extra = ["id"], [], []
        if self.some(35):
            partition = [("p", rnd.choice(("INT", "STRING", "DATE")) + (" NOT NULL" if pk else ""))]
            self.fixed["p"] = self.pool(partition[0][1], 3)
        if self.some(50):
            extra.append(("k", rnd.choice(KEYS) + (" NOT NULL" if pk else "")))
            keys.append("k")
            self.fixed["k"] = self.pool(extra[0][1], 3)
        if pk and (self.engine != "deduplicate" or self.some(85)):  # a key that moves to another partition is deleted from the old one
            keys += [n for n, _ in partition]
        made = tables.schema([rnd.choice(VALUES) for _ in range(rnd.randrange(2, 9))], partition + extra)
        made["partitionKeys"], made["primaryKeys"] = [n for n, _ in partition], keys if pk else []
        self.fields = made["fields"]
        self.storage_options(pk)
        self.index_options()
        if pk:
            self.merge_options(made)
        made["options"] = self.options
        return made

    def pool(self, text, n):
        """A few values, so that they meet again."""
        t = rows.Type(text)
        return tables.one_of(*[x for x in (rows.value(t, self.rnd, 20) for _ in range(n)) if x != '"NaN"'] or ["0"])  # NaN has no order in Java

    def value_fields(self):
        return [f for f in self.fields if f["name"].startswith("v")]

    def storage_options(self, pk):
        rnd, o = self.rnd, self.options
        o["file.format"] = rnd.choice(("parquet", "parquet", "orc", "orc", "avro", "avro", "json", "json" if pk else "csv"))  # csv: Java mixes up columns
        if pk:
            o["bucket"] = rnd.choice(("1", "1", "2", "3", "-1", "-1", "-2" if self.some(20) else "1"))
            o["write-only"] = rnd.choice(("true", "false"))
            o["num-sorted-run.compaction-trigger"] = str(rnd.randrange(2, 6))
        elif self.some(50):
            o.update({"bucket": rnd.choice(("2", "3")), "bucket-key": "id"})
        if o.get("bucket") == "-1":
            o["dynamic-bucket.target-row-num"] = rnd.choice(("5", "1000"))
        for percent, name, values in (
                (20, "deletion-vectors.bitmap64", ("true", "false")), (30, "metadata.stats-mode", ("none", "counts", "full", "truncate(4)")),
                (15, "metadata.stats-dense-store", ("true", "false")), (20, "data-file.thin-mode", ("true", "false")),
                (20, "file.format.per.level", ("0:avro", "0:avro,5:orc", "0:parquet,5:orc")), (20, "file.compression", ("none", "lz4", "snappy", "zstd")),
                (20, "target-file-size", ("1 kb", "10 kb")), (20, "source.split.target-size", ("1 kb", "5 kb")), (20, "source.split.open-file-cost", ("1 b",)),
                (15, "manifest.merge-min-count", ("2", "3")), (25, "manifest.format", ("orc", "parquet")), (20, "manifest.compression", ("bzip2", "snappy")), (10, "partition.legacy-name", ("false",)), (10, "partition.default-name", ("none",)),
                (20, "parquet.enable.dictionary", ("false",)), (15, "parquet.block.size", ("100", "1000")), (15, "parquet.page.size", ("50", "300")),
                (15, "orc.stripe.size", ("200", "1000")), (10, "read.batch-size", ("3",)), (10, "num-levels", ("2", "3")),
                (10, "bucket-function.type", ("mod",))):
            if self.some(percent):
                o[name] = rnd.choice(values)
        if self.is_text():
            o["file.compression"] = rnd.choice(("none", "none", "gzip", "bzip2", "deflate", "snappy", "lz4"))  # zstd needs Hadoop's native library
            o.pop("file.format.per.level", None)
            for percent, name, values in (
                    (20, "csv.field-delimiter", (";", "|")), (20, "csv.include-header", ("true",)), (20, "csv.null-literal", ("NULL", "null", "0")),
                    (15, "csv.quote-character", ("'",)), (15, "csv.escape-character", ("^", "/")), (15, "csv.mode", ("dropmalformed", "failfast")),
                    (10, "csv.line-delimiter", ("|~", "\r\n")), (10, "json.ignore-parse-errors", ("true",)), (10, "json.line-delimiter", ("~~|",))):
                if self.some(percent):
                    o[name] = rnd.choice(values)
        if self.some(35 if pk else 25):
            o["deletion-vectors.enabled"] = "true"

    def is_text(self):
        return self.options["file.format"] in ("csv", "json")

    def index_options(self):
        for kind, roots in (("bloom-filter", None), ("bitmap", None), ("bsi", NUMBERS[:4] + ("DATE", "TIME", "TIMESTAMP")), ("range-bitmap", None)):
            names = [f["name"] for f in self.fields if self.some(40) and not rows.Type(f["type"]).nested
                     and (roots is None or rows.Type(f["type"]).root in roots)]
            if names and self.some(15):
                self.options[f"file-index.{kind}.columns"] = ",".join(names)
                if self.some(50):
                    self.options["file-index.in-manifest-threshold"] = self.rnd.choice(("1 b", "1 mb"))

    def merge_options(self, made):
        rnd, o, values = self.rnd, self.options, self.value_fields()
        o["merge-engine"] = self.engine
        if self.some(40):
            o["changelog-producer"] = rnd.choice(("lookup", "lookup", "input", "full-compaction"))
        if self.some(35) and self.engine != "first-row":
            chosen = rnd.sample(values, 1 if len(values) < 2 or self.some(70) else 2)
            for f in chosen:
                f["type"] = rnd.choice(SEQUENCES)
                self.fixed[f["name"]] = self.pool(f["type"], 4)
            o["sequence.field"] = ",".join(f["name"] for f in chosen)
            if self.some(30):
                o["sequence.field.sort-order"] = rnd.choice(("ascending", "descending"))
        free = [f for f in values if f["name"] not in o.get("sequence.field", "").split(",")]
        if self.engine == "partial-update" and len(free) >= 3 and self.some(50):
            self.sequence_group(free)
        elif self.engine in ("aggregation", "partial-update"):
            self.aggregators(free, 75)
        self.deletes = self.engine == "deduplicate" or self.some(60)
        if self.engine == "deduplicate":
            if self.some(10):
                o["ignore-delete"] = "true"
        elif self.deletes:
            removing = {"aggregation": "aggregation.remove-record-on-delete", "partial-update": "partial-update.remove-record-on-delete"}
            o[removing[self.engine] if self.engine in removing and self.some(50) else "ignore-delete"] = "true"

    def sequence_group(self, free):
        by = free[0]
        by["type"] = self.rnd.choice(SEQUENCES)
        self.fixed[by["name"]] = self.pool(by["type"], 5)
        members = free[1:1 + self.rnd.randrange(1, len(free))]
        self.options[f"fields.{by['name']}.sequence-group"] = ",".join(f["name"] for f in members)
        self.aggregators(members, 40)

    def aggregators(self, fields, percent):
        if self.some(20):
            self.options["fields.default-aggregate-function"] = self.rnd.choice(("last_value", "last_non_null_value", "first_value"))
        for f in fields:
            if not self.some(percent):
                continue
            key, chosen = f"fields.{f['name']}.", self.rnd.choice(functions(rows.Type(f["type"])))
            self.options[key + "aggregate-function"] = chosen
            if chosen == "nested_update" and self.some(50):
                self.options[key + "nested-key"] = "p"
                self.unordered.add(f["name"])
            if chosen == "listagg" and self.some(30):
                self.options[key + "distinct"] = "true"
            if chosen == "collect" and self.some(50):
                self.options[key + "distinct"] = "true"
            if chosen in ("collect", "merge_map"):
                self.unordered.add(f["name"])
            if self.some(15):
                self.options[key + "ignore-retract"] = "true"

    def append(self):
        self.steps += 1
        columns = self.columns()
        lines = [columns.row(self.rnd) for _ in range(self.rnd.randrange(1, ROWS))]
        if self.deletes:
            lines = [x.replace('"+I"', '"-D"', 1) if self.some(15) else x for x in lines]
        file = support.write_rows(os.path.join(self.folder, f"step{self.steps}.jsonl"), lines)
        with open(file + ".java", "w", encoding="utf-8", newline="") as f:
            f.write("".join(x + "\n" for x in lines))
        overwrite = ["--overwrite", "all"] if self.some(4) else []
        self.java.run("append", self.table, file + ".java", *overwrite)

    def alter(self):
        change = self.change()
        if change[0]["op"] == "type" and self.made_of_maps(change[0]["column"]):
            return
        if "." in change[0]["column"] and self.engine in ("aggregation", "partial-update"):
            return  # Java keeps a reference to a casted row that it uses again: first_value shows a later value
        if change[0]["op"] == "type" and change[0]["column"] in self.options.get("sequence.field", "").split(","):
            return  # what does not fit the new type is null to a reader, but not in the order of Java's sequence fields
        if change[0]["op"] == "type" and self.options["file.format"] == "json" and "TIMESTAMP" in json.dumps(dict(self.paths())[change[0]["column"]]):
            return  # Java's conditions see digits of a TIMESTAMP in JSON that its rows do not show
        ok, _ = self.java.run("alter", self.table, json.dumps(change))
        for c in change if ok else ():
            if c["op"] == "rename" and c["column"] in self.unordered:
                self.unordered.add(c["to"])

    def made_of_maps(self, path):
        """As text a map shows the order of Java's hash table."""
        text = java_evolution.text_of(dict(self.paths())[path])
        return any(x in text for x in ("MAP<", "MULTISET<", "ARRAY<")) and ("avro" in json.dumps(self.options) or self.unordered)

    def step(self, newest):
        choice = self.rnd.randrange(100)
        if choice < 60:
            self.append()
        elif choice < 80:
            self.java.run("compact", self.table, *(["--full"] if self.some(50) else []))
        elif choice < 90 or self.engine != "append":
            self.alter()
        elif newest:
            predicate = self.columns().predicate(self.rnd, newest)
            self.java.run("delete-where", self.table, json.dumps(predicate))

    def plain(self, line):
        """Elements that Java keeps in a hash table, in one order."""
        if not self.unordered:
            return line
        cells = rows.cells_of(line)
        for name in self.unordered & set(cells):
            if cells[name] != "null":
                cells[name] = "[" + ",".join(sorted(rows.split_values(cells[name]))) + "]"
        return "{" + ",".join(f"{rows.quote(n)}:{c}" for n, c in cells.items()) + "}"

    def same(self, *args):
        """The rows that both read; None: Java cannot, or pml says what it needs."""
        answer = self.java.run("dump", self.table, *args)
        threads = ["--threads", str(self.rnd.randrange(2, 4))] if self.some(40) else []
        return self.judged(answer, self.pml.run("dump", self.table, *args, *threads), args, " ".join([*args, *threads]) or "latest")

    def changes(self, snapshots):
        """What came between two snapshots, in every way, and the changelog. Java's copy of the table has the columns of its first snapshot."""
        a, b = sorted(self.rnd.sample([snapshots[0] - 1, *snapshots], 2))
        # Java compares rows as bytes, and out of Avro and JSON files its maps come in the order of a hash table.
        maps = any(x in json.dumps(self.options) for x in ("avro", '"json"')) and any(x in java_evolution.text_of(t) for t in dict(self.paths()).values() for x in ("MAP<", "MULTISET<"))
        for mode in ("delta", "changelog") if maps or a < snapshots[0] else ("delta", "changelog", "diff"):
            for system in ([], ["--system", "audit_log"]):
                self.same("--option", f"incremental-between={a},{b}", "--option", "incremental-between-scan-mode=" + mode, *system)
        first = self.rnd.choice(snapshots)
        answer = self.java.run("changelog", self.table, "--from", str(first))
        options = ("--option", "scan.mode=from-snapshot", "--option", f"scan.snapshot-id={first}")
        self.judged(answer, self.pml.run("changelog", self.table, *options), options, f"changelog from {first}")

    def judged(self, answer, done, args, what):
        ok, out = answer
        csv = self.options["file.format"] == "csv"
        if done.code == 3 and "needs " in done.err:
            refused[re.search("needs ([^ ,;()]+)", done.err).group(1).rstrip(":.")] += 1
            return support.lines_of(out) if ok else None
        if ok and "value has more than" in done.err:  # Java does not mind sums with more digits than the type has
            refused["decimals with too many digits"] += 1
            return None
        if ok and re.search(r"--filter: .*' is no DECIMAL\(", done.err):  # of a sum with more digits than its type
            refused["conditions on decimals with too many digits"] += 1
            return None
        # Line ends in texts make more rows of a CSV file than were written, and deletion vectors that name them.
        if ok and ("rows that its metadata knows of" in done.err or (csv and "a row beyond the end of the file" in done.err)):
            refused["CSV files with more rows than were written"] += 1
            return None
        if ok and "out of range for nanosecond resolution" in done.err:
            refused["ORC timestamps beyond 64 bits of nanoseconds"] += 1
            return None
        if ok and "outside of what Arrow holds" in done.err:  # numbers and texts that became TIMESTAMPs, which Java holds in 96 bits
            refused["casts to timestamps beyond 64 bits"] += 1
            return None
        if ok and NEGATIVE_TIME.search(out):  # a TIMESTAMP before 1970 as TIME: we give the time of the day
            refused["negative times"] += 1
            return None
        if ok and FAR_YEAR.search(done.out):  # Java's text of a timestamp (Timestamp.toLocalDateTime) takes its day in 32 bits
            refused["years that Java's text cannot show"] += 1
            return None
        if ok and "\ufffd" in out.decode("utf-8", "replace"):  # bytes as a STRING: Java prints another text than it has
            refused["bytes that are no text"] += 1
            return None
        # Java reads old snapshots with the newest options, which may name columns that did not have that name yet; and it looks at the
        # functions of columns where nothing is merged, too.
        old = "--snapshot" in args or "scan.mode=from-snapshot" in args
        # Its statistics of a column with another type are cast to one that has no such cast.
        if not ok and (done.code != 0 or (old and b"can not be found in table schema" in out) or b"Data type for " in out or
                       b"NullPointerException: Cannot cast from type" in out):
            return None
        if not ok or done.code != 0:
            fault = "reads" if ok else "fails: " + out[:900].decode("utf-8", "replace")
            raise support.Wrong(f"{what}: Java {fault}, pml's exit code is {done.code}: {done.err[:600]}")
        want, got = support.lines_of(out), support.lines_of(done.out)
        if self.unordered:
            support.equal(what, sorted(map(self.plain, want)), sorted(map(self.plain, got)))
        else:
            support.equal(what, want, got)
        return want


    def projected(self, columns, found, predicate):
        """A condition on columns that are not asked for (Java's dump would not apply it exactly)."""
        name = self.rnd.choice(columns.names)
        done = self.pml.run("dump", self.table, *predicate, "--columns", name)
        if found is not None and done.code == 0 and name not in self.unordered:
            support.equal(f"{' '.join(predicate)} --columns {name}", rows.in_order(columns.project(found, [name])), support.lines_of(done.out))

    def counted(self, newest):
        done = self.pml.run("count", self.table)
        if newest is not None and done.code == 0 and self.options["file.format"] != "csv":  # ends of lines in texts make more rows than were written
            support.equal("count", len(newest), int(done.out))


def is_ordered_otherwise(condition, lines):
    """Where Java loses rows because ORC's code leaves out stripes: by the order of UTF-16 in texts with characters from U+FFFF on, by dates
    before 1582, of another calendar there, and by statistics of columns with NaN, which its filter takes as the largest number but its
    statistics do not know."""
    text = json.dumps(condition, ensure_ascii=False)
    if any(year < "1583" for year in re.findall(r'"(\d{4})-\d\d-\d\d', text)):
        return True
    return any(c >= "\uffff" for c in text) or any(c == '"NaN"' and rows.quote(n) in text for line in lines for n, c in rows.cells_of(line).items())


def both_read(t):
    for step in range(COMMITS):
        if step == 0:
            t.append()
        else:
            t.step(newest if step % 2 == 0 else None)
        newest = t.same()
        t.counted(newest)
    columns = t.columns()
    for _ in range(3):
        t.same("--columns", ",".join(t.rnd.sample(columns.names, t.rnd.randrange(1, len(columns.names) + 1))))
    predicate = None
    if newest:
        for _ in range(PREDICATES):
            condition = columns.predicate(t.rnd, newest, leave_out=t.unordered)
            if "orc" in json.dumps(t.options) and is_ordered_otherwise(condition, newest):
                continue
            predicate = support.filter_args(condition)
            found = t.same(*predicate)
        if predicate is not None:
            t.projected(columns, found, predicate)
    folder = os.path.join(t.table, "snapshot")
    snapshots = sorted(int(name.split("-")[1]) for name in (os.listdir(folder) if os.path.isdir(folder) else ()) if name.startswith("snapshot-"))
    for snapshot in snapshots:
        t.same("--snapshot", str(snapshot))
    if snapshots:
        if t.some(30):  # it takes longer than all the rest
            t.changes(snapshots)


def table_of(folder, pml, java, seed):
    t = RandomTable(folder, pml, java, seed)
    try:
        both_read(t)
    except support.Wrong as e:
        raise support.Wrong(f"{e}\n      options: {json.dumps(t.options)}\n      repeat: scripts/check-java --random 1 --seed {seed} --only 'random '") from e


def add_cases(suite, pml, java, seed, number):
    before = len(suite.failed)
    for i in range(number):
        suite.case(f"random {seed + i}", table_of, pml, java, seed + i)
    if number and suite.only in "random ":
        print(f"random tables: {number} seeds from {seed}, {len(suite.failed) - before} differences; reads refused: "
              + (", ".join(f"{n} {name}" for name, n in refused.most_common()) or "none"), flush=True)
