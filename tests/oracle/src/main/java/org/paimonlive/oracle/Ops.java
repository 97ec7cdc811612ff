/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.Snapshot;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.append.dataevolution.DataEvolutionCompactCoordinator;
import org.apache.paimon.append.dataevolution.DataEvolutionCompactTask;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.crosspartition.IndexBootstrap;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.JoinedRow;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.AppendDeleteFileMaintainer;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.CommitMessageSerializer;
import org.apache.paimon.table.sink.DynamicBucketRowKeyExtractor;
import org.apache.paimon.table.sink.RowPartitionAllPrimaryKeyExtractor;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.table.source.IncrementalSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableScan;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** What the sub-commands do to a table. */
final class Ops {
    static final ObjectMapper JSON = new ObjectMapper();
    static final String TMP =
            System.getProperty("oracle.tmp", System.getProperty("java.io.tmpdir"));

    private Ops() {}

    static FileIO fileIO() {
        return LocalFileIO.create();
    }

    static FileStoreTable open(String path, String branch, Map<String, String> dynamic) {
        Options o = new Options();
        o.set("path", path);
        if (branch != null) {
            o.set("branch", branch);
        }
        if (dynamic.containsKey("scan.fallback-branch")) {
            dynamic.forEach(o::set); // the factory itself must see this one
            return FileStoreTableFactory.create(CatalogContext.create(o));
        }
        FileStoreTable t = FileStoreTableFactory.create(CatalogContext.create(o));
        return dynamic.isEmpty() ? t : t.copy(dynamic);
    }

    static FileStoreTable open(String path) {
        return open(path, null, Collections.emptyMap());
    }

    // ---------------------------------------------------------------- schema

    /** {"fields":[{"name","type","description"?}],"partitionKeys":[],"primaryKeys":[],"options":{},"comment"} */
    static Schema schema(JsonNode n) {
        AtomicInteger ids = new AtomicInteger(-1);
        Schema.Builder b = Schema.newBuilder();
        for (JsonNode f : n.get("fields")) {
            int id = ids.incrementAndGet();
            DataType t =
                    f.get("type").isTextual()
                            ? Types.parse(f.get("type").asText())
                            : DataTypeJsonParser.parseDataType(f.get("type"), ids);
            b.column(
                    f.get("name").asText(),
                    t,
                    f.has("description") ? f.get("description").asText() : null,
                    f.has("defaultValue") ? f.get("defaultValue").asText() : null);
        }
        b.partitionKeys(strings(n.get("partitionKeys")));
        b.primaryKey(strings(n.get("primaryKeys")));
        if (n.has("options")) {
            n.get("options").fields().forEachRemaining(e -> b.option(e.getKey(), e.getValue().asText()));
        }
        if (n.has("comment")) {
            b.comment(n.get("comment").asText());
        }
        return b.build();
    }

    static List<String> strings(JsonNode n) {
        List<String> l = new ArrayList<>();
        if (n != null) {
            n.forEach(x -> l.add(x.asText()));
        }
        return l;
    }

    static FileStoreTable create(String path, Schema schema) throws Exception {
        new SchemaManager(fileIO(), new Path(path)).createTable(schema);
        return open(path);
    }

    // ---------------------------------------------------------------- writing

    static long nextIdentifier(FileStoreTable t, String user) {
        return t.snapshotManager()
                        .latestSnapshotOfUserFromFilesystem(user)
                        .map(Snapshot::commitIdentifier)
                        .filter(i -> i < Long.MAX_VALUE)
                        .orElse(0L)
                + 1;
    }

    interface RowSink extends AutoCloseable {
        void write(InternalRow row) throws Exception;

        List<CommitMessage> prepare(boolean waitCompaction, long id) throws Exception;

        TableWriteImpl<?> raw();
    }

    /** A writer that also assigns buckets for the dynamic-bucket modes. */
    static RowSink sink(FileStoreTable t, String user, RowType writeType) throws Exception {
        TableWriteImpl<?> w = t.newWrite(user).withIOManager(IOManager.create(TMP));
        if (writeType != null) {
            w.withWriteType(writeType);
        }
        BucketMode mode = t.bucketMode();
        if (mode == BucketMode.HASH_DYNAMIC) {
            HashBucketAssigner assigner =
                    new HashBucketAssigner(
                            t.snapshotManager(),
                            user,
                            t.store().newIndexFileHandler(),
                            1,
                            1,
                            0,
                            t.coreOptions().dynamicBucketTargetRowNum(),
                            t.coreOptions().dynamicBucketMaxBuckets());
            DynamicBucketRowKeyExtractor x = new DynamicBucketRowKeyExtractor(t.schema());
            return new AbstractSink(w) {
                @Override
                public void write(InternalRow row) throws Exception {
                    x.setRecord(row);
                    w.write(row, assigner.assign(x.partition(), x.trimmedPrimaryKey().hashCode()));
                }

                @Override
                public List<CommitMessage> prepare(boolean wait, long id) throws Exception {
                    assigner.prepareCommit(id);
                    return super.prepare(wait, id);
                }
            };
        }
        if (mode == BucketMode.KEY_DYNAMIC) {
            return new CrossPartitionSink(t, w);
        }
        return new AbstractSink(w);
    }

    private static class AbstractSink implements RowSink {
        final TableWriteImpl<?> w;

        AbstractSink(TableWriteImpl<?> w) {
            this.w = w;
        }

        @Override
        public void write(InternalRow row) throws Exception {
            w.write(row);
        }

        @Override
        public List<CommitMessage> prepare(boolean wait, long id) throws Exception {
            return w.prepareCommit(wait, id);
        }

        @Override
        public TableWriteImpl<?> raw() {
            return w;
        }

        @Override
        public void close() throws Exception {
            w.close();
        }
    }

    /** Primary key without the partition columns: one global key index, one bucket per partition. */
    private static class CrossPartitionSink extends AbstractSink {
        final RowPartitionAllPrimaryKeyExtractor x;
        final Map<BinaryRow, BinaryRow> where = new HashMap<>();
        final FileStoreTable t;

        CrossPartitionSink(FileStoreTable t, TableWriteImpl<?> w) throws Exception {
            super(w);
            this.t = t;
            this.x = new RowPartitionAllPrimaryKeyExtractor(t.schema());
            for (InternalRow row : readAll(t)) {
                where.put(x.trimmedPrimaryKey(row).copy(), x.partition(row).copy());
            }
        }

        @Override
        public void write(InternalRow row) throws Exception {
            BinaryRow key = x.trimmedPrimaryKey(row).copy();
            BinaryRow part = x.partition(row).copy();
            BinaryRow old = where.get(key);
            if (old != null && !old.equals(part)) {
                GenericRow del = new GenericRow(row.getFieldCount());
                for (int i = 0; i < row.getFieldCount(); i++) {
                    DataField f = t.rowType().getFields().get(i);
                    int p = t.partitionKeys().indexOf(f.name());
                    del.setField(
                            i,
                            p >= 0
                                    ? InternalRow.createFieldGetter(f.type(), p).getFieldOrNull(old)
                                    : InternalRow.createFieldGetter(f.type(), i)
                                            .getFieldOrNull(row));
                }
                del.setRowKind(RowKind.DELETE);
                w.write(del, 0);
            }
            w.write(row, 0);
            if (row.getRowKind().isAdd()) {
                where.put(key, part);
            } else {
                where.remove(key);
            }
        }
    }

    static void commit(FileStoreTable t, String user, long id, List<CommitMessage> msgs, Map<String, String> overwrite)
            throws Exception {
        try (TableCommitImpl c = t.newCommit(user)) {
            c.ignoreEmptyCommit(msgs.stream().noneMatch(m -> !((CommitMessageImpl) m).newFilesIncrement().isEmpty()) && overwrite == null);
            if (overwrite != null) {
                c.withOverwrite(overwrite);
            }
            c.commit(id, msgs);
        }
    }

    /** Commits messages that another writer serialized. */
    static void commitBytes(FileStoreTable t, String user, long id, int version, File file, PrintStream out) throws Exception {
        CommitMessageSerializer serializer = new CommitMessageSerializer();
        List<CommitMessage> msgs = new ArrayList<>();
        try (DataInputStream in = new DataInputStream(new FileInputStream(file))) {
            while (in.available() > 0) {
                byte[] bytes = new byte[in.readInt()];
                in.readFully(bytes);
                CommitMessage m = serializer.deserialize(version, bytes);
                byte[] own = serializer.serialize(m);
                boolean begins = own.length <= bytes.length && Arrays.equals(own, Arrays.copyOf(bytes, own.length));
                out.println(begins ? own.length : -1);
                msgs.add(m);
            }
        }
        commit(t, user, id, msgs, null);
    }

    /** Writes rows and commits once. Compaction, if the options allow it, is waited for. */
    static void append(
            FileStoreTable t,
            String user,
            long id,
            Iterable<? extends InternalRow> rows,
            List<String> columns,
            Map<String, String> overwrite)
            throws Exception {
        RowType wt = columns == null ? null : t.rowType().project(columns);
        try (RowSink s = sink(t, user, wt)) {
            if (overwrite != null) {
                s.raw().withIgnorePreviousFiles(true);
            }
            for (InternalRow r : rows) {
                s.write(r);
            }
            commit(t, user, id, s.prepare(true, id), overwrite);
        }
    }

    static List<CommitMessage> withFirstRowId(List<CommitMessage> msgs, long first) {
        for (CommitMessage m : msgs) {
            List<DataFileMeta> files = ((CommitMessageImpl) m).newFilesIncrement().newFiles();
            List<DataFileMeta> copy = new ArrayList<>(files);
            files.clear();
            copy.forEach(f -> files.add(f.assignFirstRowId(first)));
        }
        return msgs;
    }

    /** Data-evolution: writes only {@code columns} for the rows that begin at row id {@code first}. */
    static void updateColumns(
            FileStoreTable t,
            String user,
            long id,
            List<String> columns,
            long first,
            List<? extends InternalRow> rows)
            throws Exception {
        try (RowSink s = sink(t, user, t.rowType().project(columns))) {
            for (InternalRow r : rows) {
                s.write(r);
            }
            commit(t, user, id, withFirstRowId(s.prepare(true, id), first), null);
        }
    }

    /** Removes all rows, or with "k=v,k2=v2" those of one partition. */
    static void truncate(FileStoreTable t, String partition) throws Exception {
        try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) {
            if (partition == null) {
                c.truncateTable();
            } else {
                Map<String, String> spec = new HashMap<>();
                for (String kv : partition.split(",")) {
                    spec.put(kv.split("=", 2)[0], kv.split("=", 2)[1]);
                }
                c.truncatePartitions(Collections.singletonList(spec));
            }
        }
    }

    static void expire(FileStoreTable t, int retain) {
        t.newExpireSnapshots()
                .config(
                        ExpireConfig.builder()
                                .snapshotRetainMax(retain)
                                .snapshotRetainMin(1)
                                .snapshotTimeRetain(Duration.ZERO)
                                .changelogRetainMax(Integer.MAX_VALUE)
                                .changelogRetainMin(1)
                                .changelogTimeRetain(Duration.ofDays(36500))
                                .build())
                .expire();
    }

    // ---------------------------------------------------------------- compaction

    static boolean compact(FileStoreTable t0, String user, boolean full) throws Exception {
        FileStoreTable t = t0.copy(Collections.singletonMap("write-only", "false"));
        long id = nextIdentifier(t, user);
        if (t.coreOptions().bucket() == BucketMode.POSTPONE_BUCKET) {
            return compactPostpone(t, user, id);
        }
        if (t.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            List<CommitMessage> msgs = new ArrayList<>();
            if (t.coreOptions().dataEvolutionEnabled()) {
                DataEvolutionCompactCoordinator c = new DataEvolutionCompactCoordinator(t, false, true);
                try {
                    for (List<DataEvolutionCompactTask> tasks = c.plan(); !tasks.isEmpty(); tasks = c.plan()) {
                        for (DataEvolutionCompactTask task : tasks) {
                            msgs.add(task.doCompact(t, user));
                        }
                    }
                } catch (EndOfScanException e) {
                    // planned everything
                }
            } else {
                Map<String, String> o = new HashMap<>();
                o.put("compaction.min.file-num", full ? "1" : t.options().getOrDefault("compaction.min.file-num", "5"));
                FileStoreTable tc = t.copy(o);
                AppendCompactCoordinator c = new AppendCompactCoordinator(tc, false);
                BaseAppendFileStoreWrite w = (BaseAppendFileStoreWrite) tc.store().newWrite(user);
                try {
                    for (List<AppendCompactTask> tasks = c.run(); !tasks.isEmpty(); tasks = c.run()) {
                        for (AppendCompactTask task : tasks) {
                            if (task.compactBefore().size() > 1 || tc.coreOptions().deletionVectorsEnabled()) {
                                msgs.add(task.doCompact(tc, w));
                            }
                        }
                    }
                } catch (EndOfScanException e) {
                    // planned everything
                } finally {
                    w.close();
                }
            }
            if (msgs.isEmpty()) {
                return false;
            }
            commit(t, user, id, msgs, null);
            return true;
        }
        Set<List<Object>> buckets = new LinkedHashSet<>();
        t.newSnapshotReader().bucketEntries().stream()
                .map(b -> Arrays.<Object>asList(b.partition(), b.bucket()))
                .forEach(buckets::add);
        List<List<Object>> ordered = new ArrayList<>(buckets);
        ordered.sort(Comparator.comparing((List<Object> b) -> b.get(0).toString()).thenComparing(b -> (Integer) b.get(1)));
        try (TableWriteImpl<?> w = t.newWrite(user).withIOManager(IOManager.create(TMP))) {
            for (List<Object> b : ordered) {
                w.compact((BinaryRow) b.get(0), (Integer) b.get(1), full);
            }
            commit(t, user, id, w.prepareCommit(true, id), null);
        }
        return true;
    }

    /** Moves the rows of the postpone directory into real buckets, in write order. */
    static boolean compactPostpone(FileStoreTable t, String user, long id) throws Exception {
        Map<String, String> opts = new HashMap<>(t.options());
        int def = Integer.parseInt(opts.getOrDefault("postpone.default-bucket-num", "1"));
        opts.put("bucket", String.valueOf(def));
        FileStoreTable scan = t.copy(t.schema().copy(opts));
        List<CommitMessage> out = new ArrayList<>();
        for (BinaryRow part : scan.newSnapshotReader().withBucket(BucketMode.POSTPONE_BUCKET).partitions()) {
            int n = def;
            var it = t.newSnapshotReader().withPartitionFilter(Collections.singletonList(part)).onlyReadRealBuckets().readFileIterator();
            if (it.hasNext()) {
                n = it.next().totalBuckets();
            }
            Map<String, String> o = new HashMap<>(t.options());
            o.put("bucket", String.valueOf(n));
            FileStoreTable real = t.copy(t.schema().copy(o));
            try (TableWriteImpl<?> w = real.newWrite(user).withIOManager(IOManager.create(TMP))) {
                for (Split s :
                        real.newSnapshotReader().withPartitionFilter(Collections.singletonList(part))
                                .withBucket(BucketMode.POSTPONE_BUCKET).read().splits()) {
                    DataSplit d = (DataSplit) s;
                    List<DataFileMeta> files = new ArrayList<>(d.dataFiles());
                    files.sort(Comparator.comparing(DataFileMeta::creationTime));
                    for (DataFileMeta f : files) {
                        try (RecordReader<InternalRow> r = real.newRead().createReader(single(d, f))) {
                            r.forEachRemaining(
                                    row -> {
                                        try {
                                            w.write(row);
                                        } catch (Exception e) {
                                            throw new RuntimeException(e);
                                        }
                                    });
                        }
                    }
                    out.add(
                            new CommitMessageImpl(
                                    d.partition(),
                                    d.bucket(),
                                    d.totalBuckets(),
                                    DataIncrement.emptyIncrement(),
                                    new CompactIncrement(d.dataFiles(), new ArrayList<>(), new ArrayList<>())));
                }
                for (CommitMessage m0 : w.prepareCommit(true, id)) {
                    CommitMessageImpl m = (CommitMessageImpl) m0;
                    List<DataFileMeta> before = new ArrayList<>(m.compactIncrement().compactBefore());
                    List<DataFileMeta> after = new ArrayList<>(m.newFilesIncrement().newFiles());
                    after.addAll(m.compactIncrement().compactAfter());
                    // a file both written and compacted away within this one commit never shows up
                    List<DataFileMeta> gone = new ArrayList<>(before);
                    gone.retainAll(after);
                    before.removeAll(gone);
                    after.removeAll(gone);
                    List<DataFileMeta> log = new ArrayList<>(m.newFilesIncrement().changelogFiles());
                    log.addAll(m.compactIncrement().changelogFiles());
                    out.add(
                            new CommitMessageImpl(
                                    m.partition(),
                                    m.bucket(),
                                    m.totalBuckets(),
                                    DataIncrement.emptyIncrement(),
                                    new CompactIncrement(
                                            before,
                                            after,
                                            log,
                                            m.compactIncrement().newIndexFiles(),
                                            m.compactIncrement().deletedIndexFiles())));
                }
            }
        }
        if (out.isEmpty()) {
            return false;
        }
        commit(scan, user, id, out, null);
        return true;
    }

    private static DataSplit single(DataSplit d, DataFileMeta f) {
        return DataSplit.builder()
                .withPartition(d.partition())
                .withBucket(d.bucket())
                .withBucketPath(d.bucketPath())
                .withTotalBuckets(d.totalBuckets())
                .withDataFiles(Collections.singletonList(f))
                .isStreaming(false)
                .rawConvertible(true)
                .build();
    }

    // ---------------------------------------------------------------- deletion vectors on append tables

    interface RowTest {
        boolean test(InternalRow row);
    }

    static void deleteWhere(FileStoreTable t, String user, RowTest doomed) throws Exception {
        boolean b64 = t.coreOptions().deletionVectorBitmap64();
        Snapshot snap = t.snapshotManager().latestSnapshot();
        Map<List<Object>, BaseAppendDeleteFileMaintainer> ms = new LinkedHashMap<>();
        Map<List<Object>, Integer> totals = new HashMap<>();
        for (Split s : t.newSnapshotReader().read().splits()) {
            DataSplit d = (DataSplit) s;
            List<Object> k = Arrays.asList(d.partition(), d.bucket());
            BaseAppendDeleteFileMaintainer m =
                    ms.computeIfAbsent(
                            k,
                            x ->
                                    t.bucketMode() == BucketMode.BUCKET_UNAWARE
                                            ? BaseAppendDeleteFileMaintainer.forUnawareAppend(
                                                    t.store().newIndexFileHandler(), snap, d.partition())
                                            : BaseAppendDeleteFileMaintainer.forBucketedAppend(
                                                    t.store().newIndexFileHandler(), snap, d.partition(), d.bucket()));
            totals.put(k, d.totalBuckets());
            for (DataFileMeta f : d.dataFiles()) {
                DeletionVector dv = b64 ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
                long[] pos = {0};
                boolean[] hit = {false};
                try (RecordReader<InternalRow> r = t.newRead().createReader(single(d, f))) {
                    r.forEachRemaining(
                            row -> {
                                if (doomed.test(row)) {
                                    dv.delete(pos[0]);
                                    hit[0] = true;
                                }
                                pos[0]++;
                            });
                }
                if (hit[0]) {
                    if (m instanceof AppendDeleteFileMaintainer) {
                        AppendDeleteFileMaintainer am = (AppendDeleteFileMaintainer) m;
                        if (am.getDeletionFile(f.fileName()) != null) {
                            dv.merge(am.getDeletionVector(f.fileName()));
                            am.notifyRemovedDeletionVector(f.fileName());
                        }
                    }
                    m.notifyNewDeletionVector(f.fileName(), dv);
                }
            }
        }
        List<CommitMessage> msgs = new ArrayList<>();
        for (Map.Entry<List<Object>, BaseAppendDeleteFileMaintainer> e : ms.entrySet()) {
            List<IndexFileMeta> add = new ArrayList<>();
            List<IndexFileMeta> del = new ArrayList<>();
            for (IndexManifestEntry x : e.getValue().persist()) {
                (x.kind() == FileKind.ADD ? add : del).add(x.indexFile());
            }
            msgs.add(
                    new CommitMessageImpl(
                            e.getValue().getPartition(),
                            e.getValue().getBucket(),
                            totals.get(e.getKey()),
                            new DataIncrement(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), add, del),
                            CompactIncrement.emptyIncrement()));
        }
        commit(t, user, nextIdentifier(t, user), msgs, null);
    }

    // ---------------------------------------------------------------- reading

    static List<InternalRow> readAll(FileStoreTable t) throws Exception {
        List<InternalRow> rows = new ArrayList<>();
        ReadBuilder rb = t.newReadBuilder();
        var ser = new org.apache.paimon.data.serializer.InternalRowSerializer(t.rowType());
        for (Split s : rb.newScan().plan().splits()) {
            try (RecordReader<InternalRow> r = rb.newRead().withIOManager(IOManager.create(TMP)).createReader(s)) {
                r.forEachRemaining(row -> rows.add(ser.copy(row)));
            }
        }
        return rows;
    }

    /** All rows of a table (data table or system table), as canonical lines. */
    static List<String> dump(Table t, List<String> columns, JsonNode filter, boolean sorted) throws Exception {
        ReadBuilder rb = t.newReadBuilder();
        RowType type = t.rowType();
        if (columns != null) {
            type = type.project(columns);
            rb.withReadType(type);
        }
        if (filter != null) {
            rb.withFilter(predicate(filter, t.rowType()));
        }
        List<String> lines = new ArrayList<>();
        final RowType rt = type;
        for (Split s : rb.newScan().plan().splits()) {
            var read = rb.newRead().withIOManager(IOManager.create(TMP));
            if (filter != null) {
                read = read.executeFilter();
            }
            try (RecordReader<InternalRow> r = read.createReader(s)) {
                r.forEachRemaining(row -> lines.add(RowCodec.render(row, rt, true)));
            }
        }
        if (sorted) {
            lines.sort(Bytes::compareUtf8);
        }
        return lines;
    }

    /** {"and":[..]} {"or":[..]} {"eq":["col",v]} lt le gt ge ne in(["col",[..]]) isnull/notnull(["col"]) prefix. */
    static Predicate predicate(JsonNode n, RowType type) {
        PredicateBuilder b = new PredicateBuilder(type);
        String op = n.fieldNames().next();
        JsonNode a = n.get(op);
        if (op.equals("and") || op.equals("or")) {
            List<Predicate> ps = new ArrayList<>();
            a.forEach(x -> ps.add(predicate(x, type)));
            return op.equals("and") ? PredicateBuilder.and(ps) : PredicateBuilder.or(ps);
        }
        int i = b.indexOf(a.get(0).asText());
        DataType t = type.getTypeAt(i);
        switch (op) {
            case "isnull":
                return b.isNull(i);
            case "notnull":
                return b.isNotNull(i);
            case "in":
                List<Object> vs = new ArrayList<>();
                a.get(1).forEach(x -> vs.add(RowCodec.internal(x, t)));
                return b.in(i, vs);
            default:
        }
        Object v = RowCodec.internal(a.get(1), t);
        switch (op) {
            case "eq":
                return b.equal(i, v);
            case "ne":
                return b.notEqual(i, v);
            case "lt":
                return b.lessThan(i, v);
            case "le":
                return b.lessOrEqual(i, v);
            case "gt":
                return b.greaterThan(i, v);
            case "ge":
                return b.greaterOrEqual(i, v);
            case "prefix":
                return b.startsWith(i, v);
            default:
                throw new IllegalArgumentException("unknown predicate " + op);
        }
    }

    /**
     * What a streaming reader that starts at snapshot {@code from} sees, in read order, tagged with the snapshot. Without it the
     * options of {@code t0} say where it starts, or else it starts at snapshot 1.
     */
    static List<String> changelog(FileStoreTable t0, String from, Map<String, String> options) throws Exception {
        Map<String, String> o = new HashMap<>();
        if (from != null || !options.containsKey("scan.mode")) {
            o.put("scan.mode", "from-snapshot");
            o.put("scan.snapshot-id", from == null ? "1" : from);
        }
        FileStoreTable t = t0.copy(o);
        ReadBuilder rb = t.newReadBuilder();
        StreamTableScan scan = rb.newStreamScan();
        long latest = t.snapshotManager().latestSnapshotId();
        List<String> lines = new ArrayList<>();
        while (true) {
            TableScan.Plan plan;
            try {
                plan = scan.plan();
            } catch (EndOfScanException e) {
                break;
            }
            for (Split s : plan.splits()) {
                long id = s instanceof DataSplit ? ((DataSplit) s).snapshotId() : ((IncrementalSplit) s).snapshotId();
                try (RecordReader<InternalRow> r =
                        rb.newRead().withIOManager(IOManager.create(TMP)).createReader(s)) {
                    r.forEachRemaining(
                            row ->
                                    lines.add(
                                            "{\"_snapshot\":" + id + ","
                                                    + RowCodec.render(row, t.rowType(), true).substring(1)));
                }
            }
            Long next = scan.checkpoint();
            if (next != null && next > latest) {
                break;
            }
        }
        return lines;
    }
}
