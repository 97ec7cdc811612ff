/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;

import java.util.ArrayList;
import java.util.List;

/** Schema changes from JSON: a list of {"op":...} objects, applied as one change. Nested names use dots. */
final class Alter {
    private Alter() {}

    static void apply(FileStoreTable t, JsonNode n) throws Exception {
        List<SchemaChange> l = new ArrayList<>();
        for (JsonNode c : n) {
            l.add(change(c));
        }
        t.schemaManager().commitChanges(l);
    }

    private static String[] path(JsonNode c) {
        return c.get("column").asText().split("\\.");
    }

    private static SchemaChange change(JsonNode c) {
        switch (c.get("op").asText()) {
            case "add":
                return SchemaChange.addColumn(path(c), Types.parse(c.get("type").asText()), null, move(c));
            case "drop":
                return SchemaChange.dropColumn(path(c));
            case "rename":
                return SchemaChange.renameColumn(path(c), c.get("to").asText());
            case "type":
                return SchemaChange.updateColumnType(path(c), Types.parse(c.get("type").asText()), true);
            case "nullable":
                return SchemaChange.updateColumnNullability(path(c), c.get("value").asBoolean());
            case "default":
                return SchemaChange.updateColumnDefaultValue(path(c), c.get("value").asText());
            case "comment":
                return SchemaChange.updateColumnComment(path(c), c.get("value").asText());
            case "move":
                return SchemaChange.updateColumnPosition(move(c));
            case "set":
                return SchemaChange.setOption(c.get("key").asText(), c.get("value").asText());
            case "unset":
                return SchemaChange.removeOption(c.get("key").asText());
            default:
                throw new IllegalArgumentException(c.toString());
        }
    }

    private static SchemaChange.Move move(JsonNode c) {
        String[] p = path(c);
        String name = p[p.length - 1];
        if (c.has("after")) {
            return SchemaChange.Move.after(name, c.get("after").asText());
        }
        if (c.has("before")) {
            return SchemaChange.Move.before(name, c.get("before").asText());
        }
        if (c.has("first")) {
            return SchemaChange.Move.first(name);
        }
        if (c.has("last")) {
            return SchemaChange.Move.last(name);
        }
        return null;
    }
}
