# SPDX-License-Identifier: Apache-2.0
# Rows go through the real-time writer; offsets say how far the table is.
. "$PML_TEST_SOURCE/tools/support/check.sh"

i=0
while [ $i -lt 25 ]; do
    echo "{\"_kind\":\"+I\",\"id\":$i,\"name\":\"n$i\"}"
    i=$((i + 1))
done >rows.jsonl

exits 0 table create plain --columns "id INT NOT NULL, name STRING"
exits 3 ingest plain rows.jsonl --live
says "realtime.enabled"
says "pml table create"
exits 0 offsets plain --format json
prints_lines 0

exits 0 table create t --live --columns "id INT NOT NULL, name STRING"
exits 0 ingest t rows.jsonl --live --commit-every 10 --user source-1
says "25 rows in 3 commits, snapshot 3"
exits 0 count t
prints_exactly 25
exits 0 dump t
LC_ALL=C sort rows.jsonl | cmp -s - out || fail "the dump differs from what was ingested"
exits 0 offsets t --format json
prints_lines 1
prints '"bucket":0,"tiered":25,"state":"ok"'
exits 0 offsets t --snapshot 1 --format csv
prints ",0,10,ok,"
exits 0 ingest t rows.jsonl --live --user source-1
exits 0 offsets t
prints " 50 "

# Offsets of the source are for programs.
exits 0 table create ext --live --columns "id INT NOT NULL, name STRING" --option realtime.offset-mode=external
exits 3 ingest ext rows.jsonl --live
says "realtime.offset-mode=external"
exits 0 count ext
prints_exactly 0

# A plain writer beside it does not move the offsets.
exits 0 load t rows.jsonl
exits 0 count t
prints_exactly 75
exits 0 offsets t --format csv
prints ",0,50,ok,"

# Interrupted by somebody who empties the table: what was committed is said, not what the table holds.
exits 0 table create i --live --columns "id INT NOT NULL, name STRING"
{
    head -3 rows.jsonl
    n=0
    while [ ! -e warehouse/default.db/i/snapshot/snapshot-3 ] && [ $n -lt 300 ]; do
        n=$((n + 1))
        sleep 0.1
    done
    "$PML" table truncate i --yes 2>truncated
    tail -3 rows.jsonl
} | { "$PML" ingest i - --live --commit-every 1 2>err && echo 0 >code || echo $? >code; }
grep -q "removed 3 rows" truncated || fail "the truncate said $(cat truncated)"
[ "$(cat code)" -ne 0 ] || fail "a live ingest over a truncated table went on"
says "committed were the first 3 rows, the last of them in snapshot 3"
exits 0 count i
prints_exactly 0
