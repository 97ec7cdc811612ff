/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A peer's rows/s and MB/s. Columns cycle through: bigint id, int, double, string, decimal(18,2), timestamp(3), boolean, date. */
final class Bench {
    private static final DataType[] CYCLE = {
        DataTypes.BIGINT(), DataTypes.INT(), DataTypes.DOUBLE(), DataTypes.STRING(),
        DataTypes.DECIMAL(18, 2), DataTypes.TIMESTAMP(3), DataTypes.BOOLEAN(), DataTypes.DATE()
    };

    private Bench() {}

    /** splitmix64 finalizer: the same value stream is trivial to make in C. */
    static long mix(long z) {
        z += 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    static GenericRow row(int columns, long id, long salt) {
        GenericRow r = new GenericRow(columns);
        r.setField(0, id);
        for (int c = 1; c < columns; c++) {
            long v = mix(id * 1000003L + c + salt * 0x51ED270BL);
            switch (c % CYCLE.length) {
                case 0:
                    r.setField(c, v);
                    break;
                case 1:
                    r.setField(c, (int) Long.remainderUnsigned(v, 1000000));
                    break;
                case 2:
                    r.setField(c, (v >>> 11) * 0x1.0p-53);
                    break;
                case 3:
                    r.setField(c, BinaryString.fromString("value-" + Long.toHexString(v >>> 40)));
                    break;
                case 4:
                    r.setField(c, Decimal.fromUnscaledLong(Long.remainderUnsigned(v, 100000000L), 18, 2));
                    break;
                case 5:
                    r.setField(c, Timestamp.fromEpochMillis(1700000000000L + Long.remainderUnsigned(v, 86400000L)));
                    break;
                case 6:
                    r.setField(c, (v & 1) == 1);
                    break;
                default:
                    r.setField(c, (int) Long.remainderUnsigned(v, 20000));
            }
        }
        return r;
    }

    static void write(String path, Map<String, String> flags, Map<String, String> options, PrintStream out)
            throws Exception {
        long rows = Long.parseLong(flags.getOrDefault("rows", "1000000"));
        int columns = Integer.parseInt(flags.getOrDefault("columns", "8"));
        int runs = Integer.parseInt(flags.getOrDefault("runs", "1"));
        int upsert = Integer.parseInt(flags.getOrDefault("upsert-percent", "0"));
        boolean pk = flags.getOrDefault("mode", "append").equals("pk");
        boolean writeOnly = flags.containsKey("write-only");
        Schema.Builder b = Schema.newBuilder();
        for (int c = 0; c < columns; c++) {
            DataType t = CYCLE[c % CYCLE.length];
            b.column("c" + c, c == 0 && pk ? t.notNull() : t);
        }
        if (pk) {
            b.primaryKey("c0");
        }
        b.option("bucket", pk ? flags.getOrDefault("buckets", "1") : "-1");
        b.option("file.format", flags.getOrDefault("format", "parquet"));
        options.forEach(b::option);
        if (writeOnly) {
            b.option("write-only", "true");
        }
        if (flags.containsKey("generate-only")) {
            long start = System.nanoTime();
            long sum = 0;
            for (long i = 0; i < rows; i++) {
                sum += row(columns, scatter(i), 0).getLong(0);
            }
            out.printf("{\"op\":\"generate\",\"rows\":%d,\"seconds\":%.2f,\"sum\":%d}%n", rows, (System.nanoTime() - start) / 1e9, sum);
            return;
        }
        FileStoreTable t = Ops.create(path, b.build());
        // Each run writes rows/runs rows. In a pk run P% of them hit ids that were written before.
        long per = rows / runs;
        long known = 0;
        long[] newKey = {0};
        long begin = System.nanoTime();
        long cpu0 = cpu();
        for (int run = 0; run < runs; run++) {
            long id = run + 1;
            try (Ops.RowSink s = Ops.sink(t, "bench", null)) {
                for (long i = 0; i < per; i++) {
                    long r = mix(run * 7919L + i);
                    long key;
                    if (!pk) {
                        key = run * per + i;
                    } else if (newKey[0] > 0 && Long.remainderUnsigned(r, 100) < upsert) {
                        key = scatter(Long.remainderUnsigned(r >>> 8, newKey[0]));
                    } else {
                        key = scatter(newKey[0]++);
                    }
                    s.write(row(columns, key, run));
                }
                Ops.commit(t, "bench", id, s.prepare(true, id), null);
            }
            known += per;
        }
        double sec = (System.nanoTime() - begin) / 1e9;
        long bytes = size(new File(path));
        out.printf(
                "{\"op\":\"write\",\"rows\":%d,\"columns\":%d,\"runs\":%d,\"pk\":%b,\"writeOnly\":%b,\"seconds\":%.2f,\"cpuSeconds\":%.2f,"
                        + "\"rowsPerSecond\":%.0f,\"tableBytes\":%d,\"tableMBps\":%.1f,\"maxHeapMB\":%d}%n",
                known, columns, runs, pk, writeOnly, sec, (cpu() - cpu0) / 1e9, known / sec, bytes, bytes / sec / 1e6,
                Runtime.getRuntime().totalMemory() >> 20);
    }

    /** Spreads consecutive key numbers over the key range (a bijection on 40-bit numbers). */
    private static long scatter(long n) {
        return (n * 0x9E3779B1L) & 0xFFFFFFFFFFL;
    }

    static void read(FileStoreTable t, List<String> columns, int repeat, PrintStream out) throws Exception {
        for (int k = 0; k < repeat; k++) {
            long begin = System.nanoTime();
            long cpu0 = cpu();
            ReadBuilder rb = t.newReadBuilder();
            if (columns != null) {
                rb.withReadType(t.rowType().project(columns));
            }
            int width = columns == null ? t.rowType().getFieldCount() : columns.size();
            var type = columns == null ? t.rowType() : t.rowType().project(columns);
            List<InternalRow.FieldGetter> g = new ArrayList<>();
            for (int i = 0; i < width; i++) {
                g.add(InternalRow.createFieldGetter(type.getTypeAt(i), i));
            }
            long[] n = {0, 0};
            for (Split s : rb.newScan().plan().splits()) {
                try (RecordReader<InternalRow> r =
                        rb.newRead().withIOManager(IOManager.create(Ops.TMP)).createReader(s)) {
                    r.forEachRemaining(
                            row -> {
                                for (InternalRow.FieldGetter f : g) {
                                    n[1] += f.getFieldOrNull(row) == null ? 1 : 0;
                                }
                                n[0]++;
                            });
                }
            }
            double sec = (System.nanoTime() - begin) / 1e9;
            long bytes = size(new File(t.location().toUri().getPath()));
            out.printf(
                    "{\"op\":\"read\",\"rows\":%d,\"columns\":%d,\"nulls\":%d,\"seconds\":%.2f,\"cpuSeconds\":%.2f,\"rowsPerSecond\":%.0f,\"tableMBps\":%.1f}%n",
                    n[0], width, n[1], sec, (cpu() - cpu0) / 1e9, n[0] / sec, bytes / sec / 1e6);
            out.flush();
        }
    }

    private static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean)
                        java.lang.management.ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    static long size(File f) throws IOException {
        try (Stream<java.nio.file.Path> s = Files.walk(f.toPath())) {
            return s.filter(Files::isRegularFile).mapToLong(p -> p.toFile().length()).sum();
        }
    }
}
