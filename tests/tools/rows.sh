# SPDX-License-Identifier: Apache-2.0
# Rows go in and come out unchanged, as JSON and as CSV; counts, limits, columns and snapshots are right.
. "$PML_TEST_SOURCE/tools/support/check.sh"

columns="id BIGINT NOT NULL, name STRING, price DECIMAL(8, 2), at TIMESTAMP(3), tags ARRAY<STRING>, data BYTES, f DOUBLE"
cat >rows.jsonl <<'END'
{"_kind":"+I","id":1,"name":"plain","price":"1.50","at":"2024-01-31T12:00:00.000","tags":["a","b"],"data":"00ff","f":-0}
{"_kind":"+I","id":2,"name":"comma, \"quote\"\u000aline","price":null,"at":null,"tags":[],"data":"","f":"NaN"}
{"_kind":"+I","id":3,"name":"","price":"-0.30","at":"2025-02-28T23:59:59.999","tags":null,"data":null,"f":0.10000000000000001}
END
exits 0 table create t --columns "$columns"
exits 0 count t
prints_exactly 0
exits 0 load t rows.jsonl
says "3 rows in 1 commit, snapshot 1"
exits 0 dump t
cmp -s rows.jsonl out || fail "the dump differs from what was loaded: $(cat out)"

exits 0 scan t --format csv
cp out rows.csv
exits 0 table create copy --columns "$columns"
exits_with_input 0 rows.csv ingest copy - --format csv
exits 0 dump copy
cmp -s rows.jsonl out || fail "the dump differs after CSV: $(cat out)"

gzip -k rows.jsonl
exits 0 ingest t rows.jsonl.gz --commit-every 2 --user job-1
says "3 rows in 2 commits, snapshot 3"
exits 0 count t
prints_exactly 6
exits 0 count t --snapshot 1
prints_exactly 3
exits 0 dump t --snapshot 1
cmp -s rows.jsonl out || fail "the first snapshot has changed"
exits 4 count t --snapshot 9
exits 0 ingest t rows.jsonl --user job-1
exits 0 snapshots t --format json
prints_lines 4
prints '"commit_user":"job-1","commit_identifier":3'
exits 0 files t --format csv
prints_lines 5
exits 0 files t --snapshot 1
prints parquet

exits 0 scan t --snapshot 1
prints "plain"
prints_lines 5
exits 0 scan t --columns name,id --snapshot 1 --format json --where "id = 1"
prints_exactly '{"name":"plain","id":1}'
exits 0 scan t --limit 2 --format json
prints_lines 2
exits 0 dump t --columns id --snapshot 1 --filter '{"or":[{"eq":["id",1]},{"gt":["at","2025-01-01T00:00:00.000"]}]}'
prints_exactly '{"_kind":"+I","id":1}
{"_kind":"+I","id":3}'
exits 4 scan t --columns nope

# Which snapshot: one of four ways.
t=warehouse/default.db/t
mkdir $t/tag
cp $t/snapshot/snapshot-1 "$t/tag/tag-the first"
exits 0 count t --tag "the first"
prints_exactly 3
exits 0 dump t --tag "the first"
cmp -s rows.jsonl out || fail "the tag has other rows"
exits 4 scan t --tag x
says "has no tag 'x': there is the first"
exits 2 scan t --tag a/b
says "is no name of a tag"
millis=$(sed -n 's/.*"timeMillis" : \([0-9]*\).*/\1/p' $t/snapshot/snapshot-1)
exits 0 count t --timestamp "$millis"
prints_exactly 3
exits 0 count t --timestamp "$(date -u -d "@$((millis / 1000))" +%Y-%m-%dT%H:%M:%S).$(printf %03d $((millis % 1000)))Z"
prints_exactly 3
exits 0 count t --timestamp "9999-12-31"
prints_exactly 9
exits 4 count t --timestamp "2001-02-03 04:05"
says "no snapshot at or before the time 981173100000 ms"
exits 4 count t --timestamp 0
exits 4 count t --timestamp -5
exits 4 scan t --watermark 7
says "has a watermark"
exits 0 dump t --option scan.tag-name="the first"
cmp -s rows.jsonl out || fail "the option scan.tag-name has no effect"
for wrong in yesterday 2024-02-30 2024-01-31T25:00 2024-01-31T12:00:60 2024-1-3 12:00 2024-01-31T12:00x ""; do
    exits 2 scan t --timestamp "$wrong"
    says "timestamp"
done
exits 2 scan t --timestamp 9223372036854775808
says "from -9223372036854775808 to 9223372036854775807"
exits 2 scan t --limit 99999999999999999999
says "to 9223372036854775807"
exits 2 scan t --snapshot 1 --tag x
says "only one of them"

# A hole in the snapshots is no expiry: planning again does not help. The search by time begins in the middle.
exits 0 table create hole --columns "$columns"
for _ in 1 2 3; do
    exits 0 load hole rows.jsonl
done
mv warehouse/default.db/hole/snapshot/snapshot-2 .
exits 4 count hole --snapshot 2
says "its file is missing"
exits 4 files hole --snapshot 2
says "its file is missing"
exits 4 files hole --snapshot 99
says "has no snapshot 99: there are 1 to 3"
exits 4 count hole --timestamp 9999-01-01
says "the file of snapshot 2"
exits 0 count hole --snapshot 3
prints_exactly 9
exits 2 count t --watermark 1 --timestamp 1
exits 2 dump t --watermark much
exits 2 dump t --tag x --snapshot 1

exits 0 dump t --system files
exits 0 dump t --system binlog --columns rowkind --filter '{"eq":["rowkind","-D"]}'
exits 3 dump t --system file_indexes
exits 4 dump t --system files --filter '{"eq":["nowhere",1]}'
exits 2 dump t --system files --filter '{"eq":["bucket","x"]}'
exits 0 dump t --option incremental-between=1,2

# Wrong rows say where, and leave the table as it was.
printf '{"id":1}\n{"id":"x"}\n' >bad.jsonl
exits 1 load t bad.jsonl
says "bad.jsonl, line 2"
says "nothing was added"
exits 1 ingest t bad.jsonl --commit-every 1
says "the first 1"
printf 'id,extra\n1,2\n' >bad.csv
exits 1 ingest t bad.csv
says '"extra"'
printf 'id,name\n1,a\nx,b\n' >bad.csv
exits 1 load t bad.csv
says 'bad.csv: column "id"'
printf 'name,id\na,1\nb,\n' >bad.csv
exits 1 load t bad.csv
says 'bad.csv, row 2: column "id" is NOT NULL'
printf 'id,name\n1,"open\n2,b\n3,c' >bad.csv
exits 1 load t bad.csv
says "begins in line 2"
exits_with_input 1 bad.csv load t - --format csv
says "standard input"
exits 0 table create nulls --columns "id BIGINT"
printf '{"id":1}\n{}\n' >nulls.jsonl
exits 0 load nulls nulls.jsonl
exits 1 load t warehouse/default.db/nulls/bucket-0/*.parquet
says '.parquet, row 2: column "id" is NOT NULL'
exits 4 load t absent.jsonl
exits 2 load t rows.txt
exits 0 count t
prints_exactly 10
exits 3 ingest t rows.jsonl --live
says "--live"

# The reader of a pipe may leave at any time.
i=0
while [ $i -lt 3000 ]; do
    echo "{\"id\":$i,\"name\":\"a rather long text that fills the buffers of pipes sooner\"}"
    i=$((i + 1))
done >many.jsonl
exits 0 load t many.jsonl
{ "$PML" dump t 2>err; echo $? >code; } | head -n 1 >/dev/null
[ "$(cat code)" -eq 0 ] || fail "a closed pipe ended pml with $(cat code)"
[ ! -s err ] || fail "a closed pipe was complained about"

# A file whose columns are not the table's is damaged data, not a wrong command line and no missing feature.
for types in "DATE DOUBLE" "DECIMAL(20,2) DECIMAL(4,2)"; do
    from=${types% *} to=${types#* }
    exits 0 table create types --columns "id INT, v $from"
    case $from in DATE) value=2024-01-31 ;; *) value=123456789012345678.25 ;; esac
    printf '{"id":1,"v":"%s"}\n' "$value" >one.jsonl
    exits 0 load types one.jsonl
    sed -i "s/\"$from\"/\"$to\"/; s/\"DECIMAL(20, 2)\"/\"$to\"/" warehouse/default.db/types/schema/schema-0
    exits 1 dump types
    says ".parquet"
    exits 0 table drop types --yes
done
