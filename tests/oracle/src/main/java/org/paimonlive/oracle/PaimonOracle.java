/* SPDX-License-Identifier: Apache-2.0 */
package org.paimonlive.oracle;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.system.SystemTableLoader;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public final class PaimonOracle {
    private final Map<String, String> flags = new HashMap<>();
    private final Map<String, String> options = new LinkedHashMap<>();
    private final List<String> args = new ArrayList<>();
    private final PrintStream out;

    private PaimonOracle(String[] argv, PrintStream out) {
        this.out = out;
        for (int i = 1; i < argv.length; i++) {
            String a = argv[i];
            if (a.equals("--option")) {
                String[] kv = argv[++i].split("=", 2);
                options.put(kv[0], kv[1]);
            } else if (a.equals("--full") || a.equals("--unsorted") || a.equals("--write-only") || a.equals("--generate-only")) {
                flags.put(a.substring(2), "true");
            } else if (a.startsWith("--")) {
                flags.put(a.substring(2), argv[++i]);
            } else {
                args.add(a);
            }
        }
    }

    public static void main(String[] argv) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(java.io.FileDescriptor.out), false, "UTF-8");
        if (argv.length == 0) {
            usage();
            System.exit(2);
        }
        if (argv[0].equals("serve")) {
            serve(out);
            return;
        }
        try {
            new PaimonOracle(argv, out).run(argv[0]);
        } catch (Throwable e) {
            out.flush();
            e.printStackTrace();
            System.exit(1);
        }
        out.flush();
        System.exit(0); // do not wait for Paimon's idle thread pools
    }

    private static void usage() {
        System.err.println(
                "usage: PaimonOracle COMMAND ...\n"
                        + "  create TABLE SCHEMA.json\n"
                        + "  alter TABLE CHANGES.json\n"
                        + "  append TABLE ROWS.jsonl|- [--user U] [--id N] [--columns a,b] [--first-row-id N]"
                        + " [--overwrite k=v,..|all] [--write-only] [--branch B] [--option k=v]...\n"
                        + "  commit TABLE MESSAGES --version V [--user U] [--id N]   (a file: i32 length and bytes of each message;"
                        + " prints how many of them Java's own bytes begin with, -1: other bytes)\n"
                        + "  compact TABLE [--full] [--user U] [--branch B] [--option k=v]...\n"
                        + "  delete-where TABLE PREDICATE_JSON [--user U]\n"
                        + "  dump TABLE [--snapshot N|--tag T|--branch B] [--columns a,b] [--filter JSON]"
                        + " [--system NAME] [--unsorted] [--option k=v]...\n"
                        + "  changelog TABLE [--from N] [--option k=v]...\n"
                        + "  inspect TABLE [--branch B]\n"
                        + "  tag TABLE NAME [--snapshot N] | branch TABLE NAME [--tag T] | rollback TABLE N\n"
                        + "  expire TABLE --retain N\n"
                        + "  truncate TABLE [k=v,k2=v2]   (all rows, or one partition)\n"
                        + "  random TABLE --seed N [--engine append|deduplicate|partial-update|first-row] [--format F] [--commits 6] [--rows 40]\n"
                        + "  bench-write TABLE --rows N [--columns 8] [--format parquet] [--mode append|pk] [--runs K]"
                        + " [--upsert-percent P] [--buckets 1] [--write-only] [--generate-only]\n"
                        + "  bench-read TABLE [--columns a,b] [--repeat N]\n"
                        + "  serve   (one JSON array of arguments a line on stdin)");
    }

    /** Keeps one JVM for many commands: answers "ok N" or "error N", a line, then N bytes. */
    private static void serve(PrintStream out) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            if (line.isBlank()) {
                continue;
            }
            java.io.ByteArrayOutputStream buf = new java.io.ByteArrayOutputStream();
            PrintStream p = new PrintStream(buf, false, "UTF-8");
            String status = "ok";
            try {
                String[] a = Ops.strings(Ops.JSON.readTree(line)).toArray(new String[0]);
                new PaimonOracle(a, p).run(a[0]);
            } catch (Throwable e) {
                status = "error";
                e.printStackTrace(p);
            }
            p.flush();
            byte[] b = buf.toByteArray();
            out.println(status + " " + b.length);
            out.write(b, 0, b.length);
            out.flush();
        }
        System.exit(0);
    }

    private FileStoreTable table() {
        return Ops.open(new File(args.get(0)).getAbsolutePath(), flags.get("branch"), options);
    }

    private void run(String cmd) throws Exception {
        String user = flags.getOrDefault("user", "oracle");
        switch (cmd) {
            case "create":
                Ops.create(new File(args.get(0)).getAbsolutePath(), Ops.schema(json(args.get(1))));
                break;
            case "alter":
                Alter.apply(table(), json(args.get(1)));
                break;
            case "append":
                append(user);
                break;
            case "commit":
                {
                    FileStoreTable t = table();
                    long id = flags.containsKey("id") ? Long.parseLong(flags.get("id")) : Ops.nextIdentifier(t, user);
                    Ops.commitBytes(t, user, id, Integer.parseInt(flags.get("version")), new File(args.get(1)), out);
                    break;
                }
            case "compact":
                out.println(Ops.compact(table(), user, flags.containsKey("full")) ? "compacted" : "nothing to do");
                break;
            case "delete-where":
                {
                    FileStoreTable t = table();
                    JsonNode p = Ops.JSON.readTree(args.get(1));
                    var pred = Ops.predicate(p, t.rowType());
                    Ops.deleteWhere(t, user, pred::test);
                    break;
                }
            case "dump":
                {
                    if (flags.containsKey("snapshot")) {
                        options.put("scan.snapshot-id", flags.get("snapshot"));
                    }
                    if (flags.containsKey("tag")) {
                        options.put("scan.tag-name", flags.get("tag"));
                    }
                    Table t = table();
                    if (flags.containsKey("system")) {
                        t = SystemTableLoader.load(flags.get("system"), (FileStoreTable) t);
                    }
                    JsonNode f = flags.containsKey("filter") ? Ops.JSON.readTree(flags.get("filter")) : null;
                    for (String l : Ops.dump(t, columns(), f, !flags.containsKey("unsorted"))) {
                        out.println(l);
                    }
                    break;
                }
            case "changelog":
                for (String l : Ops.changelog(table(), flags.get("from"), options)) {
                    out.println(l);
                }
                break;
            case "inspect":
                out.print(Inspect.run(table()));
                break;
            case "tag":
                if (flags.containsKey("snapshot")) {
                    table().createTag(args.get(1), Long.parseLong(flags.get("snapshot")));
                } else {
                    table().createTag(args.get(1));
                }
                break;
            case "branch":
                if (flags.containsKey("tag")) {
                    table().createBranch(args.get(1), flags.get("tag"));
                } else {
                    table().createBranch(args.get(1));
                }
                break;
            case "rollback":
                table().rollbackTo(Long.parseLong(args.get(1)));
                break;
            case "expire":
                Ops.expire(table(), Integer.parseInt(flags.get("retain")));
                break;
            case "truncate":
                Ops.truncate(table(), args.size() > 1 ? args.get(1) : null);
                break;
            case "random":
                RandomTable.write(new File(args.get(0)).getAbsolutePath(), flags, options, out);
                break;
            case "bench-write":
                Bench.write(new File(args.get(0)).getAbsolutePath(), flags, options, out);
                break;
            case "bench-read":
                Bench.read(table(), columns(), Integer.parseInt(flags.getOrDefault("repeat", "1")), out);
                break;
            default:
                usage();
                throw new IllegalArgumentException("unknown command " + cmd);
        }
    }

    private List<String> columns() {
        return flags.containsKey("columns") ? Arrays.asList(flags.get("columns").split(",")) : null;
    }

    private void append(String user) throws Exception {
        if (flags.containsKey("write-only")) {
            options.put("write-only", "true");
        }
        FileStoreTable t = table();
        long id = flags.containsKey("id") ? Long.parseLong(flags.get("id")) : Ops.nextIdentifier(t, user);
        var type = columns() == null ? t.rowType() : t.rowType().project(columns());
        List<InternalRow> rows = new ArrayList<>();
        try (BufferedReader r =
                args.get(1).equals("-")
                        ? new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
                        : Files.newBufferedReader(new File(args.get(1)).toPath())) {
            for (String l; (l = r.readLine()) != null; ) {
                if (!l.isBlank()) {
                    rows.add(RowCodec.parse(Ops.JSON.readTree(l), type));
                }
            }
        }
        Map<String, String> over = null;
        if (flags.containsKey("overwrite")) {
            over = new HashMap<>();
            if (!flags.get("overwrite").equals("all")) {
                for (String kv : flags.get("overwrite").split(",")) {
                    over.put(kv.split("=", 2)[0], kv.split("=", 2)[1]);
                }
            }
        }
        if (flags.containsKey("first-row-id")) {
            Ops.updateColumns(t, user, id, columns(), Long.parseLong(flags.get("first-row-id")), rows);
        } else {
            Ops.append(t, user, id, rows, columns(), over);
        }
        out.println("{\"snapshot\":" + t.snapshotManager().latestSnapshotId() + ",\"rows\":" + rows.size() + "}");
    }

    private static JsonNode json(String arg) throws Exception {
        return arg.startsWith("{") || arg.startsWith("[")
                ? Ops.JSON.readTree(arg)
                : Ops.JSON.readTree(new File(arg));
    }
}
