/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.BinaryVector;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.BinaryType;
import org.apache.paimon.types.CharType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;
import org.apache.paimon.types.VarBinaryType;
import org.apache.paimon.types.VarCharType;
import org.apache.paimon.types.VectorType;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/** Repeatable values of any type; edge values of any type. */
final class Gen {
    private static final String[] WORDS = {
        "", "a", "alpha", "Beta", "gamma delta", "épsilon", "零", "🙂ok", "tab\there", "quote\"q", "back\\slash", "line\nbreak"
    };

    private Gen() {}

    static GenericRow row(RowType type, long id, String salt, int nullPercent) {
        Random r = new Random((salt + ":" + id).hashCode() * 0x9E3779B97F4A7C15L + id);
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataType t = type.getTypeAt(i);
            Object v = value(t, r, nullPercent);
            if (i == 0) {
                switch (t.getTypeRoot()) {
                    case INTEGER:
                        v = (int) id;
                        break;
                    case BIGINT:
                        v = id;
                        break;
                    default:
                }
            }
            row.setField(i, v);
        }
        return row;
    }

    static Object value(DataType t, Random r, int nullPercent) {
        if (t.isNullable() && r.nextInt(100) < nullPercent) {
            return null;
        }
        switch (t.getTypeRoot()) {
            case BOOLEAN:
                return r.nextBoolean();
            case TINYINT:
                return (byte) r.nextInt();
            case SMALLINT:
                return (short) r.nextInt();
            case INTEGER:
                return r.nextInt() >> r.nextInt(31);
            case BIGINT:
                return r.nextLong() >> r.nextInt(63);
            case FLOAT:
                return (float) (r.nextInt(2000000) - 1000000) / 64f;
            case DOUBLE:
                return (r.nextLong() >> 12) / 1024.0;
            case CHAR:
                return BinaryString.fromString(pad(r, ((CharType) t).getLength()));
            case VARCHAR:
                {
                    int max = ((VarCharType) t).getLength();
                    String s = WORDS[r.nextInt(WORDS.length)] + (r.nextInt(3) == 0 ? "" : "-" + r.nextInt(1000));
                    return BinaryString.fromString(s.codePointCount(0, s.length()) > max ? s.substring(0, Math.min(max, 1)) : s);
                }
            case BINARY:
                return bytes(r, ((BinaryType) t).getLength());
            case VARBINARY:
                return bytes(r, Math.min(((VarBinaryType) t).getLength(), r.nextInt(12)));
            case BLOB:
                return Blob.fromData(bytes(r, r.nextInt(300)));
            case DECIMAL:
                {
                    DecimalType d = (DecimalType) t;
                    BigInteger u = new BigInteger(1 + r.nextInt((int) (d.getPrecision() * 3.3) - 1), r);
                    u = u.mod(BigInteger.TEN.pow(d.getPrecision()));
                    return Decimal.fromBigDecimal(
                            new BigDecimal(r.nextBoolean() ? u : u.negate(), d.getScale()), d.getPrecision(), d.getScale());
                }
            case DATE:
                return r.nextInt(40000) - 10000;
            case TIME_WITHOUT_TIME_ZONE:
                return r.nextInt(86400) * 1000 + (t.asSQLString().startsWith("TIME(0)") ? 0 : r.nextInt(1000));
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return ts(r, ((TimestampType) t).getPrecision());
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return ts(r, ((LocalZonedTimestampType) t).getPrecision());
            case VARIANT:
                return GenericVariant.fromJson(
                        "{\"k\":" + r.nextInt(100) + ",\"s\":\"v" + r.nextInt(10) + "\",\"l\":[1,2.5,null,true]"
                                + (r.nextBoolean() ? ",\"o\":{\"x\":\"" + r.nextInt(9) + "\"}" : "") + "}");
            case ARRAY:
                {
                    Object[] a = new Object[r.nextInt(5)];
                    for (int i = 0; i < a.length; i++) {
                        a[i] = value(((ArrayType) t).getElementType(), r, nullPercent);
                    }
                    return new GenericArray(a);
                }
            case VECTOR:
                {
                    VectorType vt = (VectorType) t;
                    Object[] a = new Object[vt.getLength()];
                    for (int i = 0; i < a.length; i++) {
                        a[i] = value(vt.getElementType(), r, 0);
                    }
                    return BinaryVector.fromInternalArray(new GenericArray(a), vt.getElementType());
                }
            case MAP:
                return map(((MapType) t).getKeyType(), ((MapType) t).getValueType(), r, nullPercent, false);
            case MULTISET:
                return map(((MultisetType) t).getElementType(), new IntType(false), r, nullPercent, true);
            case ROW:
                {
                    RowType rt = (RowType) t;
                    GenericRow row = new GenericRow(rt.getFieldCount());
                    for (int i = 0; i < rt.getFieldCount(); i++) {
                        row.setField(i, value(rt.getTypeAt(i), r, nullPercent));
                    }
                    return row;
                }
            default:
                throw new UnsupportedOperationException(t.toString());
        }
    }

    private static GenericMap map(DataType k, DataType v, Random r, int nulls, boolean multiset) {
        Map<Object, Object> m = new LinkedHashMap<>();
        int n = r.nextInt(4);
        for (int i = 0; i < n; i++) {
            m.put(value(k.notNull(), r, 0), multiset ? 1 + r.nextInt(5) : value(v, r, nulls));
        }
        return new GenericMap(m);
    }

    private static byte[] bytes(Random r, int n) {
        byte[] b = new byte[n];
        r.nextBytes(b);
        return b;
    }

    private static String pad(Random r, int n) {
        StringBuilder s = new StringBuilder();
        for (int i = 0; i < n; i++) {
            s.append((char) ('a' + r.nextInt(26)));
        }
        return s.toString();
    }

    private static Timestamp ts(Random r, int precision) {
        long seconds = r.nextInt(4000) * 600000L - 600000000L + r.nextInt(600000);
        int nanos = r.nextInt(1000000000);
        int unit = (int) Math.pow(10, 9 - precision);
        nanos = nanos / unit * unit;
        return Timestamp.fromEpochMillis(seconds * 1000 + nanos / 1000000, nanos % 1000000);
    }

    /** which: 0 smallest, 1 largest, 2 zero/empty. */
    static Object edge(DataType t, int which) {
        switch (t.getTypeRoot()) {
            case BOOLEAN:
                return which == 1;
            case TINYINT:
                return which == 0 ? Byte.MIN_VALUE : which == 1 ? Byte.MAX_VALUE : (byte) 0;
            case SMALLINT:
                return which == 0 ? Short.MIN_VALUE : which == 1 ? Short.MAX_VALUE : (short) 0;
            case INTEGER:
                return which == 0 ? Integer.MIN_VALUE : which == 1 ? Integer.MAX_VALUE : 0;
            case BIGINT:
                return which == 0 ? Long.MIN_VALUE : which == 1 ? Long.MAX_VALUE : 0L;
            case FLOAT:
                return which == 0 ? -Float.MAX_VALUE : which == 1 ? Float.MAX_VALUE : Float.MIN_VALUE;
            case DOUBLE:
                return which == 0 ? -Double.MAX_VALUE : which == 1 ? Double.MAX_VALUE : Double.MIN_VALUE;
            case CHAR:
                return BinaryString.fromString((which == 0 ? "0" : which == 1 ? "z" : " ").repeat(((CharType) t).getLength()));
            case VARCHAR:
                return BinaryString.fromString(
                        which == 2 ? "" : (which == 0 ? "0" : "ÿ").repeat(Math.min(40, ((VarCharType) t).getLength())));
            case BINARY:
                {
                    byte[] b = new byte[((BinaryType) t).getLength()];
                    java.util.Arrays.fill(b, (byte) (which == 0 ? 0 : which == 1 ? 255 : 128));
                    return b;
                }
            case VARBINARY:
                {
                    byte[] b = new byte[which == 2 ? 0 : Math.min(40, ((VarBinaryType) t).getLength())];
                    java.util.Arrays.fill(b, (byte) (which == 0 ? 0 : 255));
                    return b;
                }
            case DECIMAL:
                {
                    DecimalType d = (DecimalType) t;
                    BigInteger u = which == 2 ? BigInteger.ZERO : BigInteger.TEN.pow(d.getPrecision()).subtract(BigInteger.ONE);
                    return Decimal.fromBigDecimal(
                            new BigDecimal(which == 0 ? u.negate() : u, d.getScale()), d.getPrecision(), d.getScale());
                }
            case DATE:
                return which == 0 ? -719162 : which == 1 ? 2932896 : 0; // 0001-01-01, 9999-12-31
            case TIME_WITHOUT_TIME_ZONE:
                return which == 1 ? (t.asSQLString().startsWith("TIME(0)") ? 86399000 : 86399999) : 0;
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return edgeTs(((TimestampType) t).getPrecision(), which);
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return edgeTs(((LocalZonedTimestampType) t).getPrecision(), which);
            case ARRAY:
                return which == 2
                        ? new GenericArray(new Object[0])
                        : new GenericArray(new Object[] {edge(((ArrayType) t).getElementType(), which)});
            case MAP:
                {
                    Map<Object, Object> m = new LinkedHashMap<>();
                    if (which != 2) {
                        m.put(edge(((MapType) t).getKeyType(), which), edge(((MapType) t).getValueType(), which));
                    }
                    return new GenericMap(m);
                }
            case MULTISET:
                {
                    Map<Object, Object> m = new LinkedHashMap<>();
                    if (which != 2) {
                        m.put(edge(((MultisetType) t).getElementType(), which), which == 0 ? 1 : Integer.MAX_VALUE);
                    }
                    return new GenericMap(m);
                }
            case ROW:
                {
                    RowType rt = (RowType) t;
                    GenericRow row = new GenericRow(rt.getFieldCount());
                    for (int i = 0; i < rt.getFieldCount(); i++) {
                        row.setField(i, edge(rt.getTypeAt(i), which));
                    }
                    return row;
                }
            default:
                return value(t.notNull(), new Random(which), 0);
        }
    }

    private static Timestamp edgeTs(int precision, int which) {
        if (which == 2) {
            return Timestamp.fromEpochMillis(0);
        }
        int unit = (int) Math.pow(10, 9 - precision);
        // nanosecond timestamps in ORC and INT96 keep the year within 1678..2262
        long seconds = which == 0 ? -9214560000L : 9223286400L; // 1678-01-01, 2262-04-10
        int nanos = which == 0 ? 0 : 999999999 / unit * unit;
        return Timestamp.fromEpochMillis(seconds * 1000 + nanos / 1000000, nanos % 1000000);
    }

    static GenericRow edgeRow(RowType type, long id, int which) {
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataType t = type.getTypeAt(i);
            row.setField(i, i == 0 ? (Object) (int) id : which == 3 && t.isNullable() ? null : edge(t, which % 3));
        }
        return row;
    }
}
