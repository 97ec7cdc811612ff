/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.index.DeletionVectorMeta;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Everything below the rows, as JSON: schemas, snapshots, manifests, data files, index files. */
final class Inspect {
    private final FileStoreTable t;
    private final StringBuilder o = new StringBuilder();
    private final java.util.Set<String> seen = new java.util.HashSet<>();
    private final Map<Long, TableSchema> schemas = new HashMap<>();

    private Inspect(FileStoreTable t) {
        this.t = t;
    }

    static String run(FileStoreTable t) {
        Inspect i = new Inspect(t);
        i.table();
        return i.o.toString();
    }

    private void table() {
        o.append("{\n\"schemas\":[");
        boolean first = true;
        for (TableSchema s : t.schemaManager().listAll()) {
            schemas.put(s.id(), s);
            o.append(first ? "\n" : ",\n").append(compact(s.toString()));
            first = false;
        }
        o.append("],\n\"snapshots\":[");
        first = true;
        Long lo = t.snapshotManager().earliestSnapshotId();
        Long hi = t.snapshotManager().latestSnapshotId();
        if (lo != null) {
            for (long id = lo; id <= hi; id++) {
                if (t.snapshotManager().snapshotExists(id)) {
                    o.append(first ? "\n" : ",\n");
                    snapshot(t.snapshotManager().snapshot(id));
                    first = false;
                }
            }
        }
        o.append("],\n\"live\":[");
        if (hi != null) {
            first = true;
            List<String> l = new ArrayList<>();
            t.store().newScan().withSnapshot(hi).plan().files().forEach(e -> l.add(entry(e)));
            l.sort(Bytes::compareUtf8);
            o.append('\n').append(String.join(",\n", l));
        }
        o.append("],\n\"tags\":[");
        o.append(
                String.join(
                        ",",
                        t.tagManager().allTagNames().stream().map(RowCodec::quoted).sorted().toList()));
        o.append("],\n\"branches\":[");
        o.append(
                String.join(
                        ",", t.branchManager().branches().stream().map(RowCodec::quoted).sorted().toList()));
        o.append("]\n}\n");
    }

    private static String compact(String json) {
        try {
            return Ops.JSON.readTree(json).toString();
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    private void snapshot(Snapshot s) {
        o.append("{\"snapshot\":").append(compact(s.toJson()));
        manifests("base", s.baseManifestList());
        manifests("delta", s.deltaManifestList());
        manifests("changelog", s.changelogManifestList());
        if (s.indexManifest() != null) {
            o.append(",\n \"index\":[");
            boolean first = true;
            for (IndexManifestEntry e : t.store().newIndexFileHandler().readManifest(s.indexManifest())) {
                o.append(first ? "\n  " : ",\n  ");
                first = false;
                index(e);
            }
            o.append("]");
        }
        o.append("}");
    }

    private void manifests(String name, String list) {
        o.append(",\n \"").append(name).append("\":[");
        if (list != null && t.store().manifestListFactory().create().exists(list)) {
            boolean first = true;
            for (ManifestFileMeta m : t.store().manifestListFactory().create().read(list)) {
                o.append(first ? "\n  " : ",\n  ");
                first = false;
                o.append("{\"file\":").append(RowCodec.quoted(m.fileName()));
                o.append(",\"size\":").append(m.fileSize());
                o.append(",\"added\":").append(m.numAddedFiles());
                o.append(",\"deleted\":").append(m.numDeletedFiles());
                o.append(",\"schemaId\":").append(m.schemaId());
                o.append(",\"partitionStats\":");
                stats(m.partitionStats(), t.store().partitionType());
                o.append(",\"bucket\":[").append(m.minBucket()).append(',').append(m.maxBucket());
                o.append("],\"level\":[").append(m.minLevel()).append(',').append(m.maxLevel());
                o.append("],\"rowId\":[").append(m.minRowId()).append(',').append(m.maxRowId());
                o.append("]");
                if (!seen.add(m.fileName())) {
                    o.append("}"); // its entries stand above
                    continue;
                }
                o.append(",\"entries\":[");
                boolean f2 = true;
                for (ManifestEntry e : t.store().manifestFileFactory().create().read(m.fileName())) {
                    o.append(f2 ? "\n   " : ",\n   ").append(entry(e));
                    f2 = false;
                }
                o.append("]}");
            }
        }
        o.append("]");
    }

    private void index(IndexManifestEntry e) {
        IndexFileMeta f = e.indexFile();
        o.append("{\"kind\":\"").append(e.kind()).append("\",\"partition\":");
        row(e.partition(), t.store().partitionType());
        o.append(",\"bucket\":").append(e.bucket());
        o.append(",\"type\":").append(RowCodec.quoted(f.indexType()));
        o.append(",\"file\":").append(RowCodec.quoted(f.fileName()));
        o.append(",\"size\":").append(f.fileSize()).append(",\"rows\":").append(f.rowCount());
        if (f.dvRanges() != null) {
            o.append(",\"dv\":[");
            boolean first = true;
            for (DeletionVectorMeta d : f.dvRanges().values()) {
                o.append(first ? "" : ",");
                first = false;
                o.append("{\"data\":").append(RowCodec.quoted(d.dataFileName()));
                o.append(",\"offset\":").append(d.offset()).append(",\"length\":").append(d.length());
                o.append(",\"cardinality\":").append(d.cardinality()).append("}");
            }
            o.append("]");
        }
        if (f.globalIndexMeta() != null) {
            o.append(",\"global\":{\"start\":").append(f.globalIndexMeta().rowRangeStart());
            o.append(",\"end\":").append(f.globalIndexMeta().rowRangeEnd());
            o.append(",\"fieldId\":").append(f.globalIndexMeta().indexFieldId()).append("}");
        }
        o.append("}");
    }

    private String entry(ManifestEntry e) {
        int mark = o.length();
        DataFileMeta f = e.file();
        TableSchema fs = schemas.computeIfAbsent(f.schemaId(), t.schemaManager()::schema);
        o.append("{\"kind\":\"").append(e.kind()).append("\",\"partition\":");
        row(e.partition(), t.store().partitionType());
        o.append(",\"bucket\":").append(e.bucket());
        o.append(",\"totalBuckets\":").append(e.totalBuckets());
        o.append(",\"level\":").append(f.level());
        o.append(",\"file\":").append(RowCodec.quoted(f.fileName()));
        o.append(",\"size\":").append(f.fileSize()).append(",\"rows\":").append(f.rowCount());
        o.append(",\"deleteRows\":").append(f.deleteRowCount().map(String::valueOf).orElse("null"));
        o.append(",\"seq\":[").append(f.minSequenceNumber()).append(',').append(f.maxSequenceNumber());
        o.append("],\"schemaId\":").append(f.schemaId());
        o.append(",\"firstRowId\":").append(f.firstRowId());
        o.append(",\"source\":").append(f.fileSource().map(x -> "\"" + x + "\"").orElse("null"));
        o.append(",\"extraFiles\":[");
        o.append(String.join(",", f.extraFiles().stream().map(RowCodec::quoted).toList()));
        o.append("],\"embeddedIndex\":").append(f.embeddedIndex() == null ? "null" : "\"" + RowCodec.hex(f.embeddedIndex()) + "\"");
        o.append(",\"externalPath\":").append(f.externalPath().map(RowCodec::quoted).orElse("null"));
        o.append(",\"writeCols\":").append(names(f.writeCols()));
        o.append(",\"valueStatsCols\":").append(names(f.valueStatsCols()));
        if (!t.primaryKeys().isEmpty() && f.minKey() != null && f.minKey().getFieldCount() > 0) {
            RowType kt = new RowType(fs.trimmedPrimaryKeysFields());
            o.append(",\"minKey\":");
            row(f.minKey(), kt);
            o.append(",\"maxKey\":");
            row(f.maxKey(), kt);
            o.append(",\"keyStats\":");
            stats(f.keyStats(), kt);
        }
        RowType vt = fs.logicalRowType();
        if (f.valueStatsCols() != null) {
            vt = vt.project(f.valueStatsCols());
        } else if (f.writeCols() != null) {
            vt = vt.project(f.writeCols());
        }
        o.append(",\"valueStats\":");
        stats(f.valueStats(), vt);
        o.append("}");
        String r = o.substring(mark);
        o.setLength(mark);
        return r;
    }

    private static String names(List<String> l) {
        return l == null ? "null" : "[" + String.join(",", l.stream().map(RowCodec::quoted).toList()) + "]";
    }

    private void row(BinaryRow r, RowType type) {
        if (r == null || r.getFieldCount() < type.getFieldCount()) {
            o.append("null");
            return;
        }
        o.append(RowCodec.render(r, type, false));
    }

    private void stats(SimpleStats s, RowType type) {
        if (s == null || s.minValues().getFieldCount() != type.getFieldCount()) {
            o.append("null");
            return;
        }
        o.append("{\"min\":");
        side(s.minValues(), type);
        o.append(",\"max\":");
        side(s.maxValues(), type);
        o.append(",\"nulls\":[");
        BinaryArray n = s.nullCounts();
        for (int i = 0; i < n.size(); i++) {
            o.append(i > 0 ? "," : "");
            if (n.isNullAt(i)) {
                o.append("null");
            } else {
                o.append(n.getLong(i));
            }
        }
        o.append("]}");
    }

    private void side(BinaryRow r, RowType type) {
        o.append("{");
        boolean first = true;
        for (int i = 0; i < type.getFieldCount(); i++) {
            if (r.isNullAt(i)) {
                continue; // no statistic
            }
            DataField f = type.getFields().get(i);
            o.append(first ? "" : ",");
            first = false;
            RowCodec.quote(o, f.name());
            o.append(':');
            RowCodec.value(o, InternalRow.createFieldGetter(f.type(), i).getFieldOrNull(r), f.type());
        }
        o.append("}");
    }
}
