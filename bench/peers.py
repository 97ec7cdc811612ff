# SPDX-License-Identifier: Apache-2.0
"""Plain Arrow (pyarrow), pypaimon and pypaimon-rust, measured: peers.py CASE PEER WORK TABLE ROWS prints one line of JSON.

TABLE is a common table of ours, from which the rows come, too. Cases that read one row or plan take the best of 20.

case          plain-arrow                                         pypaimon                    pypaimon-rust
append        ParquetWriter over the rows in batches of 262,144   write, commit once          -
append_table  the same in one call of write_table                 -                           -
scan          ParquetFile.iter_batches over the files of TABLE    to_arrow_batch_reader       -
point         ParquetFile, and its row groups that may have id x  -                           plan and read_arrow of id = x
plan          -                                                   -                           plan of TABLE
live          batches of 1,000 rows copied to one                 -                           -
freshness     keep 1,000 rows in a list, filter all by id         write, commit, plan, read   -
"""
import glob
import json
import os
import resource
import statistics
import sys
import time

LIVE_ROWS, CYCLES = 1000, {"plain-arrow": 200, "pypaimon": 20}
REPEATS, SECONDS = 20, 2
ARROW_ROWS = 262_144


class Meter:
    def __enter__(self):
        self.cpu, self.wall = self.used(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.perf_counter() - self.wall, self.used() - self.cpu

    @staticmethod
    def used():
        r = resource.getrusage(resource.RUSAGE_SELF)
        return r.ru_utime + r.ru_stime

    def result(self, rows):
        return {"seconds": self.wall, "cpu_seconds": self.cpu, "rows": rows}


def best(step, count, wanted, found=lambda rows: rows):
    """Least figures of some calls, each of which must find so many rows among count; of fewer calls when they are slow."""
    meters = []
    while len(meters) < REPEATS and sum(m.wall for m in meters) < SECONDS:
        with Meter() as m:
            result = step()
        if found(result) != wanted:
            sys.exit(f"{found(result)} rows were found, not {wanted}")
        meters.append(m)
    return {"seconds": min(m.wall for m in meters), "cpu_seconds": min(m.cpu for m in meters), "rows": count}


def data_files(table):
    return sorted(glob.glob(f"{table}/**/data-*.parquet", recursive=True))


def load_rows(table, rows):
    """The first rows of the table that paimon-live wrote, in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    columns = ["id", "k", "v", "s8", "s16", "s32", "ts", "flag"]
    parts = []
    for f in data_files(table):
        if sum(p.num_rows for p in parts) < rows:
            parts.append(pq.read_table(f, columns=columns, use_threads=False))
    whole = pa.concat_tables(parts)
    schema = pa.schema([pa.field(f.name, f.type, f.name != "id") for f in whole.schema])  # without field ids
    return pa.Table.from_arrays(whole.columns, schema=schema).slice(0, rows)


def paimon_table(work, name, schema):
    from pypaimon import CatalogFactory, Schema
    catalog = CatalogFactory.create({"warehouse": work})
    catalog.create_database("default", True)
    options = {"bucket": "-1", "file.format": "parquet", "write-only": "true", "file.compression.zstd-level": "1"}
    if schema is not None:
        catalog.create_table(f"default.{name}", Schema.from_pyarrow_schema(schema, options=options), False)
    return catalog.get_table(f"default.{name}")


def paimon_write(table, batches):
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    for batch in batches:
        write.write_arrow_batch(batch)
    commit.commit(write.prepare_commit())
    commit.close()
    write.close()


def paimon_read(table, first=None):
    builder = table.new_read_builder()
    if first is not None:
        builder = builder.with_filter(builder.new_predicate_builder().greater_or_equal("id", first))
    return sum(b.num_rows for b in builder.new_read().to_arrow_batch_reader(builder.new_scan().plan().splits()))


def append_arrow(work, source, count):
    import pyarrow.parquet as pq
    rows = load_rows(source, count)
    batches = rows.combine_chunks().to_batches(max_chunksize=ARROW_ROWS)
    with Meter() as m, pq.ParquetWriter(f"{work}/out.parquet", rows.schema, compression="zstd", compression_level=1) as w:
        for batch in batches:
            w.write_batch(batch)
    return m.result(rows.num_rows)


def append_table_arrow(work, source, count):
    """The same in one call, which makes row groups of a million rows."""
    import pyarrow.parquet as pq
    rows = load_rows(source, count)
    with Meter() as m, pq.ParquetWriter(f"{work}/out.parquet", rows.schema, compression="zstd", compression_level=1) as w:
        w.write_table(rows)
    return m.result(rows.num_rows)


def append_pypaimon(work, source, count):
    rows = load_rows(source, count)
    table = paimon_table(work, "t", rows.schema)
    with Meter() as m:
        paimon_write(table, rows.to_batches(max_chunksize=65536))
    return m.result(rows.num_rows)


def scan_arrow(_, source, __):
    import pyarrow.parquet as pq
    with Meter() as m:
        rows = sum(b.num_rows for f in data_files(source) for b in pq.ParquetFile(f).iter_batches(use_threads=False))
    return m.result(rows)


def scan_pypaimon(_, source, __):
    warehouse, name = os.path.dirname(os.path.dirname(source)), os.path.basename(source)
    table = paimon_table(warehouse, name, None)
    with Meter() as m:
        rows = paimon_read(table)
    return m.result(rows)


def point_arrow(_, source, count):
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    def step():
        rows = 0
        for path in data_files(source):
            f = pq.ParquetFile(path)
            for g in range(f.num_row_groups):
                bounds = f.metadata.row_group(g).column(0).statistics
                if bounds.min <= count // 2 <= bounds.max:
                    table = f.read_row_group(g, use_threads=False)
                    rows += table.filter(pc.equal(table["id"], count // 2)).num_rows
        return rows
    return best(step, count, 1)


def rust_table(path):
    from pypaimon_rust.datafusion import PaimonCatalog
    return PaimonCatalog({"warehouse": os.path.dirname(os.path.dirname(path))}).get_table(f"default.{os.path.basename(path)}")


def point_rust(_, source, count):
    table = rust_table(source)
    key = {"method": "equal", "index": 0, "field": "id", "literals": [count // 2]}

    def step():
        builder = table.new_read_builder().with_filter(key)
        return sum(b.num_rows for b in builder.new_read().read_arrow(builder.new_scan().plan().splits()))
    return best(step, count, 1)


def plan_rust(_, source, count):
    """Files have one row each."""
    table = rust_table(source)

    return best(lambda: table.new_read_builder().new_scan().plan().splits(), count, count,
                lambda splits: sum(s.row_count() for s in splits))


def live_arrow(_, source, count):
    import pyarrow as pa
    batches = load_rows(source, count).combine_chunks().to_batches(max_chunksize=LIVE_ROWS)
    with Meter() as m:
        rows = pa.Table.from_batches(batches).combine_chunks().num_rows
    return m.result(rows)


def freshness(peer, batches, step):
    laps = []
    with Meter() as m:
        for batch in batches:
            begin = time.perf_counter()
            rows = step(batch)
            laps.append(time.perf_counter() - begin)
            if rows != LIVE_ROWS:
                sys.exit(f"{peer}: {rows} rows were visible, not {LIVE_ROWS}")
    return {"fresh_ms_p50": statistics.median(laps) * 1e3, "cpu_seconds": m.cpu / len(laps), "rows": LIVE_ROWS}


def fresh_batches(peer, source):
    return load_rows(source, LIVE_ROWS * CYCLES[peer]).combine_chunks().to_batches(max_chunksize=LIVE_ROWS)


def freshness_arrow(_, source, __):
    import pyarrow as pa
    import pyarrow.compute as pc
    kept = []

    def step(batch):
        kept.append(batch)
        table = pa.Table.from_batches(kept)
        return table.filter(pc.greater_equal(table["id"], batch["id"][0])).num_rows
    return freshness("plain-arrow", fresh_batches("plain-arrow", source), step)


def freshness_pypaimon(work, source, __):
    batches = fresh_batches("pypaimon", source)
    table = paimon_table(work, "t", batches[0].schema)

    def step(batch):
        paimon_write(table, [batch])
        return paimon_read(table, batch["id"][0].as_py())
    return freshness("pypaimon", batches, step)


def main():
    case, peer, work, source, count = sys.argv[1:]
    import pyarrow as pa
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    run = globals()[f"{case}_{peer.split('-')[-1]}"]
    print(json.dumps(run(work, source, int(count))))


if __name__ == "__main__":
    main()
