/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.List;

/**
 * A short text form of types: every atomic SQL type of Paimon, ARRAY&lt;T&gt;, MULTISET&lt;T&gt;,
 * MAP&lt;K,V&gt;, VECTOR&lt;T,n&gt;, ROW&lt;name T, ...&gt;, each with an optional NOT NULL behind.
 * Field ids of nested fields are given in order of appearance and renumbered by Schema.
 */
final class Types {
    private final String s;
    private int p;
    private int ids = 1000;

    private Types(String s) {
        this.s = s;
    }

    static DataType parse(String text) {
        Types t = new Types(text.trim());
        DataType d = t.type();
        t.ws();
        if (t.p != t.s.length()) {
            throw new IllegalArgumentException("trailing text in type: " + text);
        }
        return d;
    }

    private void ws() {
        while (p < s.length() && s.charAt(p) == ' ') {
            p++;
        }
    }

    private boolean eat(String w) {
        ws();
        if (s.regionMatches(true, p, w, 0, w.length())) {
            p += w.length();
            return true;
        }
        return false;
    }

    private void need(String w) {
        if (!eat(w)) {
            throw new IllegalArgumentException("expected " + w + " at " + p + " in " + s);
        }
    }

    private DataType type() {
        DataType t;
        if (eat("ARRAY<")) {
            t = DataTypes.ARRAY(type());
            need(">");
        } else if (eat("MULTISET<")) {
            t = DataTypes.MULTISET(type());
            need(">");
        } else if (eat("MAP<")) {
            DataType k = type();
            need(",");
            t = DataTypes.MAP(k, type());
            need(">");
        } else if (eat("VECTOR<")) {
            DataType e = type();
            need(",");
            t = DataTypes.VECTOR(Integer.parseInt(until(">").trim()), e);
        } else if (eat("ROW<")) {
            List<DataField> fs = new ArrayList<>();
            do {
                ws();
                int q = s.indexOf(' ', p);
                String name = s.substring(p, q);
                p = q;
                fs.add(new DataField(ids++, name, type()));
            } while (eat(","));
            need(">");
            t = new RowType(fs);
        } else {
            int depth = 0;
            int q = p;
            for (; q < s.length(); q++) {
                char c = s.charAt(q);
                if (c == '(') {
                    depth++;
                } else if (c == ')') {
                    depth--;
                } else if (depth == 0 && (c == ',' || c == '>')) {
                    break;
                }
            }
            t = DataTypeJsonParser.parseAtomicTypeSQLString(s.substring(p, q).trim());
            p = q;
            return t;
        }
        return eat("NOT NULL") ? t.notNull() : t;
    }

    private String until(String end) {
        int q = s.indexOf(end, p);
        String r = s.substring(p, q);
        p = q + end.length();
        return r;
    }
}
