# SPDX-License-Identifier: Apache-2.0
# Tables are made, described, listed and removed, by name and by path.
. "$PML_TEST_SOURCE/tools/support/check.sh"

exits 0 table create t1 --columns 'id INT NOT NULL, `a b` DECIMAL(10, 2), m MAP<STRING, ARRAY<INT>>, r ROW<x INT, y STRING>' \
    --option file.compression=zstd --comment "for tests"
says warehouse/default.db/t1
exits 0 table create db2.t2 --warehouse ./elsewhere --columns "k STRING, v INT, day DATE" --partition-by day --bucket 2 --bucket-key k
printf '{"fields":[{"name":"id","type":"INT"}],"options":{"bucket":"-1"}}' >schema.json
exits 0 table create "$dir/plain" schema.json --live
exits_with_input 0 schema.json table create ./stdin -
exits 0 table create word '{"fields":[{"name":"id","type":"INT"}]}'

exits 0 table describe t1
prints "a b"
prints "DECIMAL(10, 2)"
prints "MAP<STRING, ARRAY<INT>>"
prints "ROW<x INT, y STRING>"
prints "file.compression = zstd"
prints "for tests"
exits 0 table describe db2.t2 --warehouse=elsewhere
prints "partitions   day"
prints "bucket-key = k"
exits 0 table describe plain
prints "realtime.enabled = true"
exits 0 schema t1
prints '"a b"'

exits 1 table create t1 --columns "id INT"
says "exists"
exits 0 table create t1 --columns "id INT" --if-not-exists
exits 2 table create t9
says "SCHEMA or --columns"
exits 2 table create t9 schema.json --columns "id INT"
exits 2 table create t9 --columns "id"
says "type of a column is missing"
exits 2 table create t9 --columns "id INT" --option x
says "KEY=VALUE"
exits 2 table create t9 '{"fields":'
says "not JSON"
exits 2 table create t9 no-such-file.json
says "no-such-file.json"

exits 2 table create 'a$snapshots' --columns "id INT"
says "system tables"
exits 2 table create './plain$x/' --columns "id INT"
exits 2 table create sys.x --columns "id INT"
says "sys"
exits 3 count 'word$snapshots'
says '$'
exits 2 table create t9 --live --columns "id INT, _REALTIME_OFFSET BIGINT"
says "_REALTIME_OFFSET"
exits 0 table create ./offset --columns "id INT, _REALTIME_OFFSET BIGINT"
exits 0 table create "file://$dir/scheme" --columns "id INT"
[ -d scheme/schema ] || fail "file:// is no directory of its own"
[ ! -e file: ] || fail "file: became a directory"
exits 0 count "file:$dir/scheme"
exits 0 count "file://localhost$dir/scheme"
exits 2 count file://elsewhere/x
exits 2 count file:

exits 0 table list
prints_exactly "default.t1
default.word"
exits 0 table list --format json
prints '{"table":"default.t1"}'
PML_WAREHOUSE=elsewhere exits 0 table list
prints_exactly "db2.t2"

exits 2 table drop t1
says "--yes"
exits 0 table drop t1 --yes
exits 4 table describe t1
exits 4 table drop t1 --yes
exits 2 table drop ./plain --yes
says "by hand"
[ -d plain/schema ] || fail "a directory outside of a warehouse was removed"
exits 0 table drop ./elsewhere/db2.db/t2 --yes
[ ! -e elsewhere/db2.db/t2 ] || fail "the table is still there"

# As the manual says: a copy has the same columns and keys, and then the same rows.
exits 0 table create ./from --columns "id INT NOT NULL, p STRING" --partition-by p --option file.compression=snappy
printf 'id,p\n1,a\n2,\n' >two.csv
exits 0 load ./from two.csv
exits 0 schema ./from
mv out from.json
exits_with_input 0 from.json table create ./copy -
exits 0 dump ./from
mv out from.jsonl
exits_with_input 0 from.jsonl load ./copy -
exits 0 dump ./copy
cmp -s from.jsonl out || fail "the copy differs"
