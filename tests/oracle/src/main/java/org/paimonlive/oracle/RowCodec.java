/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.BinaryVector;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.InternalVector;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;
import org.apache.paimon.types.VectorType;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The canonical JSON form of a row, both ways. docs/rows.md describes it. */
final class RowCodec {
    private RowCodec() {}

    // ---------------------------------------------------------------- writing

    static String render(InternalRow row, RowType type, boolean withKind) {
        StringBuilder sb = new StringBuilder();
        sb.append('{');
        boolean first = true;
        if (withKind) {
            sb.append("\"_kind\":\"").append(row.getRowKind().shortString()).append('"');
            first = false;
        }
        fields(sb, row, type, first);
        return sb.append('}').toString();
    }

    private static void fields(StringBuilder sb, InternalRow row, RowType type, boolean first) {
        List<DataField> fields = type.getFields();
        for (int i = 0; i < fields.size(); i++) {
            if (!first) {
                sb.append(',');
            }
            first = false;
            quote(sb, fields.get(i).name());
            sb.append(':');
            DataType t = fields.get(i).type();
            value(sb, row.isNullAt(i) ? null : InternalRow.createFieldGetter(t, i).getFieldOrNull(row), t);
        }
    }

    static void value(StringBuilder sb, Object v, DataType type) {
        if (v == null) {
            sb.append("null");
            return;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
            case TINYINT:
            case SMALLINT:
            case INTEGER:
            case BIGINT:
                sb.append(v);
                break;
            case FLOAT:
                sb.append(real(((Float) v).doubleValue(), 9));
                break;
            case DOUBLE:
                sb.append(real((Double) v, 17));
                break;
            case CHAR:
            case VARCHAR:
                quote(sb, v.toString());
                break;
            case BINARY:
            case VARBINARY:
                sb.append('"').append(hex((byte[]) v)).append('"');
                break;
            case BLOB:
                sb.append('"').append(hex(((Blob) v).toData())).append('"');
                break;
            case DECIMAL:
                sb.append('"').append(((Decimal) v).toBigDecimal().toPlainString()).append('"');
                break;
            case DATE:
                sb.append('"').append(LocalDate.ofEpochDay((Integer) v)).append('"');
                break;
            case TIME_WITHOUT_TIME_ZONE:
                sb.append('"').append(time((Integer) v)).append('"');
                break;
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                sb.append('"')
                        .append(timestamp((Timestamp) v, ((TimestampType) type).getPrecision()))
                        .append('"');
                break;
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                sb.append('"')
                        .append(
                                timestamp(
                                        (Timestamp) v,
                                        ((LocalZonedTimestampType) type).getPrecision()))
                        .append("Z\"");
                break;
            case VARIANT:
                quote(sb, ((Variant) v).toJson(ZoneOffset.UTC));
                break;
            case ARRAY:
                array(sb, (InternalArray) v, ((ArrayType) type).getElementType());
                break;
            case VECTOR:
                array(sb, (InternalArray) v, ((VectorType) type).getElementType());
                break;
            case MAP:
                map(sb, (InternalMap) v, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
                break;
            case MULTISET:
                map(sb, (InternalMap) v, ((MultisetType) type).getElementType(), new IntType(false));
                break;
            case ROW:
                sb.append('{');
                fields(sb, (InternalRow) v, (RowType) type, true);
                sb.append('}');
                break;
            default:
                throw new UnsupportedOperationException("no JSON form for " + type);
        }
    }

    private static void array(StringBuilder sb, InternalArray a, DataType elem) {
        InternalArray.ElementGetter g = InternalArray.createElementGetter(elem);
        sb.append('[');
        for (int i = 0; i < a.size(); i++) {
            if (i > 0) {
                sb.append(',');
            }
            value(sb, g.getElementOrNull(a, i), elem);
        }
        sb.append(']');
    }

    private static void map(StringBuilder sb, InternalMap m, DataType kt, DataType vt) {
        InternalArray.ElementGetter kg = InternalArray.createElementGetter(kt);
        InternalArray.ElementGetter vg = InternalArray.createElementGetter(vt);
        List<String> entries = new ArrayList<>();
        for (int i = 0; i < m.size(); i++) {
            StringBuilder e = new StringBuilder("[");
            value(e, kg.getElementOrNull(m.keyArray(), i), kt);
            e.append(',');
            value(e, vg.getElementOrNull(m.valueArray(), i), vt);
            entries.add(e.append(']').toString());
        }
        Collections.sort(entries, Bytes::compareUtf8);
        sb.append('[').append(String.join(",", entries)).append(']');
    }

    /** What C's printf("%.{digits}g") prints; NaN and the infinities are quoted. */
    static String real(double d, int digits) {
        if (Double.isNaN(d)) {
            return "\"NaN\"";
        }
        if (Double.isInfinite(d)) {
            return d > 0 ? "\"Infinity\"" : "\"-Infinity\"";
        }
        if (d == 0) {
            return 1 / d < 0 ? "-0" : "0";
        }
        BigDecimal b =
                new BigDecimal(d).round(new MathContext(digits, RoundingMode.HALF_EVEN));
        b = b.stripTrailingZeros();
        int exp = b.precision() - b.scale() - 1;
        if (exp < -4 || exp >= digits) {
            String u = b.unscaledValue().abs().toString();
            StringBuilder s = new StringBuilder(d < 0 ? "-" : "");
            s.append(u.charAt(0));
            if (u.length() > 1) {
                s.append('.').append(u, 1, u.length());
            }
            s.append('e').append(exp < 0 ? '-' : '+');
            int a = Math.abs(exp);
            return s.append(a < 10 ? "0" + a : String.valueOf(a)).toString();
        }
        return b.toPlainString();
    }

    static String time(int millis) {
        return String.format(
                "%02d:%02d:%02d.%03d",
                millis / 3600000, millis / 60000 % 60, millis / 1000 % 60, millis % 1000);
    }

    static String timestamp(Timestamp ts, int precision) {
        LocalDateTime t = ts.toLocalDateTime();
        StringBuilder s = new StringBuilder();
        s.append(t.toLocalDate()).append('T');
        s.append(String.format("%02d:%02d:%02d", t.getHour(), t.getMinute(), t.getSecond()));
        if (precision > 0) {
            s.append('.').append(String.format("%09d", t.getNano()), 0, precision);
        }
        return s.toString();
    }

    static void quote(StringBuilder sb, String s) {
        sb.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == '"' || c == '\\') {
                sb.append('\\').append(c);
            } else if (c < 0x20) {
                sb.append(String.format("\\u%04x", (int) c));
            } else {
                sb.append(c);
            }
        }
        sb.append('"');
    }

    static String quoted(String s) {
        StringBuilder sb = new StringBuilder();
        if (s == null) {
            return "null";
        }
        quote(sb, s);
        return sb.toString();
    }

    static String hex(byte[] b) {
        StringBuilder s = new StringBuilder(b.length * 2);
        for (byte x : b) {
            s.append(Character.forDigit(x >> 4 & 15, 16)).append(Character.forDigit(x & 15, 16));
        }
        return s.toString();
    }

    static byte[] unhex(String s) {
        byte[] b = new byte[s.length() / 2];
        for (int i = 0; i < b.length; i++) {
            b[i] = (byte) Integer.parseInt(s.substring(2 * i, 2 * i + 2), 16);
        }
        return b;
    }

    // ---------------------------------------------------------------- reading

    static GenericRow parse(JsonNode json, RowType type) {
        GenericRow row = new GenericRow(type.getFieldCount());
        List<DataField> fields = type.getFields();
        for (int i = 0; i < fields.size(); i++) {
            row.setField(i, internal(json.get(fields.get(i).name()), fields.get(i).type()));
        }
        JsonNode kind = json.get("_kind");
        if (kind != null) {
            row.setRowKind(RowKind.fromShortString(kind.asText()));
        }
        return row;
    }

    static Object internal(JsonNode n, DataType type) {
        if (n == null || n.isNull()) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return n.asBoolean();
            case TINYINT:
                return (byte) n.asInt();
            case SMALLINT:
                return (short) n.asInt();
            case INTEGER:
                return n.asInt();
            case BIGINT:
                return n.asLong();
            case FLOAT:
                return n.isTextual() ? Float.valueOf(n.asText()) : Float.valueOf(n.asText());
            case DOUBLE:
                return Double.valueOf(n.asText());
            case CHAR:
            case VARCHAR:
                return BinaryString.fromString(n.asText());
            case BINARY:
            case VARBINARY:
                return unhex(n.asText());
            case BLOB:
                return Blob.fromData(unhex(n.asText()));
            case DECIMAL:
                DecimalType dt = (DecimalType) type;
                return Decimal.fromBigDecimal(
                        new BigDecimal(n.asText()), dt.getPrecision(), dt.getScale());
            case DATE:
                return (int) LocalDate.parse(n.asText()).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE:
                return (int) (LocalTime.parse(n.asText()).toNanoOfDay() / 1000000);
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse(n.asText()));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromInstant(Instant.parse(n.asText()));
            case VARIANT:
                return GenericVariant.fromJson(n.asText());
            case ARRAY:
                return new GenericArray(elements(n, ((ArrayType) type).getElementType()));
            case VECTOR:
                DataType et = ((VectorType) type).getElementType();
                return BinaryVector.fromInternalArray(new GenericArray(elements(n, et)), et);
            case MAP:
                return entries(n, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET:
                return entries(n, ((MultisetType) type).getElementType(), new IntType(false));
            case ROW:
                return parse(n, (RowType) type);
            default:
                throw new UnsupportedOperationException("no JSON form for " + type);
        }
    }

    private static Object[] elements(JsonNode n, DataType t) {
        Object[] a = new Object[n.size()];
        for (int i = 0; i < a.length; i++) {
            a[i] = internal(n.get(i), t);
        }
        return a;
    }

    private static GenericMap entries(JsonNode n, DataType kt, DataType vt) {
        Map<Object, Object> m = new LinkedHashMap<>();
        for (JsonNode e : n) {
            m.put(internal(e.get(0), kt), internal(e.get(1), vt));
        }
        return new GenericMap(m);
    }
}
