/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** A table whose schema, options and commits follow from a seed: for differential tests against the C reader. */
final class RandomTable {
    private static final String[] VALUES = {
        "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,3)", "DECIMAL(25,4)", "VARCHAR(30)", "STRING", "BYTES", "DATE",
        "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "ARRAY<INT>", "MAP<STRING,INT>", "ROW<x INT, y STRING>"
    };
    private static final String[] KEYS = {"INT", "BIGINT", "STRING", "DATE", "DECIMAL(12,2)", "TIMESTAMP(3)"};

    private RandomTable() {}

    static void write(String path, Map<String, String> flags, Map<String, String> options, PrintStream out) throws Exception {
        long seed = Long.parseLong(flags.getOrDefault("seed", "1"));
        int commits = Integer.parseInt(flags.getOrDefault("commits", "6"));
        int rows = Integer.parseInt(flags.getOrDefault("rows", "40"));
        Random r = new Random(Bench.mix(seed)); // java.util.Random starts alike for small seeds
        String[] engines = {"append", "deduplicate", "partial-update", "first-row"};
        String engine = flags.getOrDefault("engine", engines[r.nextInt(engines.length)]);
        String format = flags.getOrDefault("format", new String[] {"parquet", "orc", "avro"}[r.nextInt(3)]);
        boolean pk = !engine.equals("append");
        boolean parted = r.nextInt(3) == 0;
        boolean writeOnly = r.nextBoolean();
        boolean dv = pk && !writeOnly && engine.equals("deduplicate") && r.nextInt(3) == 0;
        Schema.Builder b = Schema.newBuilder();
        int nk = 1 + r.nextInt(2);
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < nk; i++) {
            b.column("k" + i, Types.parse(i == 0 ? "INT NOT NULL" : KEYS[r.nextInt(KEYS.length)] + " NOT NULL"));
            keys.add("k" + i);
        }
        if (parted) {
            b.column("p", Types.parse(pk ? "INT NOT NULL" : "INT"));
            b.partitionKeys("p");
            keys.add("p");
        }
        int nv = 2 + r.nextInt(7);
        for (int i = 0; i < nv; i++) {
            b.column("v" + i, Types.parse(VALUES[r.nextInt(VALUES.length)]));
        }
        if (pk) {
            b.primaryKey(keys);
            b.option("merge-engine", engine);
            b.option("bucket", String.valueOf(1 + r.nextInt(3)));
            if (!engine.equals("deduplicate")) {
                b.option("ignore-delete", "true");
            }
            if (engine.equals("first-row")) {
                writeOnly = false;
            }
        } else if (r.nextBoolean()) {
            b.option("bucket", "-1");
        } else {
            b.option("bucket", "2").option("bucket-key", "k0");
        }
        b.option("file.format", format);
        b.option("write-only", String.valueOf(writeOnly));
        b.option("num-sorted-run.compaction-trigger", String.valueOf(2 + r.nextInt(4)));
        if (dv) {
            b.option("deletion-vectors.enabled", "true");
        }
        options.forEach(b::option);
        FileStoreTable t = Ops.create(path, b.build());
        RowType type = t.rowType();
        for (int c = 0; c < commits; c++) {
            List<InternalRow> l = new ArrayList<>();
            int n = 1 + r.nextInt(rows);
            for (int i = 0; i < n; i++) {
                long id = r.nextInt(rows * 2);
                GenericRow row = Gen.row(type, id, "r" + seed + c + i, 20);
                Random kr = new Random(id * 31 + 5); // the same id has the same key in every commit
                for (int k = 1; k < nk; k++) {
                    row.setField(k, Gen.value(type.getTypeAt(k), kr, 0));
                }
                if (parted) {
                    row.setField(nk, pk ? (Object) (int) (id % 3) : id % 5 == 0 ? null : (Object) (int) (id % 3));
                }
                if (pk && r.nextInt(6) == 0) {
                    row.setRowKind(RowKind.DELETE);
                }
                l.add(row);
            }
            t = Ops.open(path);
            Ops.append(t, "random", Ops.nextIdentifier(t, "random"), l, null, null);
            if (r.nextInt(5) == 0) {
                Ops.compact(Ops.open(path), "random", r.nextBoolean());
            }
        }
        t = Ops.open(path);
        out.println(
                "{\"seed\":" + seed + ",\"engine\":\"" + engine + "\",\"format\":\"" + format + "\",\"partitioned\":" + parted + ",\"writeOnly\":" + writeOnly
                        + ",\"deletionVectors\":" + dv + ",\"snapshot\":" + t.snapshotManager().latestSnapshotId() + "}");
    }
}
