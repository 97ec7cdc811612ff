# SPDX-License-Identifier: Apache-2.0
# What changed is printed snapshot by snapshot, from where and to where it is asked for, and a consumer goes on where it was.
. "$PML_TEST_SOURCE/tools/support/check.sh"

row() { printf '{"id":%s}\n' "$1" >rows.json; exits 0 load t rows.json; }
exits 0 table create t --columns "id INT"
exits 0 changelog t
cmp -s out /dev/null || fail "a table without snapshots has changes"
row 1
row 2
row 3

exits 0 changelog t
printf '{"_snapshot":1,"_kind":"+I","id":1}\n{"_snapshot":2,"_kind":"+I","id":2}\n{"_snapshot":3,"_kind":"+I","id":3}\n' >want
cmp out want || fail "the changelog"
exits 0 changelog t --from 2 --to 2
printf '{"_snapshot":2,"_kind":"+I","id":2}\n' >want
cmp out want || fail "the changelog of snapshot 2"
exits 0 changelog t --option scan.mode=latest-full
prints '{"_snapshot":3,"_kind":"+I","id":1}'
exits 0 changelog t --option scan.mode=latest
cmp -s out /dev/null || fail "there is nothing behind the latest"

exits 0 changelog t --consumer me --to 1
exits 0 changelog t --consumer me
[ "$(wc -l <out)" = 2 ] || fail "the consumer does not go on"
exits 0 changelog t --consumer me
cmp -s out /dev/null || fail "the consumer has seen it all"
exits 0 changelog t --consumer me --anew --follow --timeout 0
[ "$(wc -l <out)" = 3 ] || fail "the consumer does not begin anew"
exits 0 dump t --system consumers
prints '"consumer_id":"me","next_snapshot_id":4'

exits 0 dump t --option incremental-between=1,3
printf '{"_kind":"+I","id":2}\n{"_kind":"+I","id":3}\n' >want
cmp out want || fail "between 1 and 3"
exits 0 count t --option incremental-between=0,3
prints 3
exits 4 dump t --option incremental-between=1,9
says "it has the snapshots 1 to 3"

exits 0 dump t --option incremental-between=1,3 --filter '{"eq":["id","3"]}'
printf '{"_kind":"+I","id":3}\n' >want
cmp out want || fail "a condition on what changed"

exits 0 table create gap --columns "id INT"
printf '{"id":1}\n' >rows.json
exits 0 load gap rows.json
exits 0 table truncate gap --yes
exits 0 load gap rows.json
exits 0 changelog gap --consumer me --to 2
prints '{"_snapshot":1,"_kind":"+I","id":1}'
exits 0 changelog gap --consumer me
prints '{"_snapshot":3,"_kind":"+I","id":1}'
exits 0 changelog gap --consumer full --to 1 --option scan.mode=latest-full
exits 0 changelog gap --consumer full --option scan.mode=latest-full
prints '{"_snapshot":3,"_kind":"+I","id":1}'

rm -f warehouse/default.db/t/snapshot/snapshot-1 warehouse/default.db/t/snapshot/EARLIEST
exits 0 changelog t
[ "$(wc -l <out)" = 2 ] || fail "it begins with the first that is left"

mkdir -p warehouse/default.db/t/consumer
printf '{"nextSnapshot":1}' >warehouse/default.db/t/consumer/consumer-late
exits 4 changelog t --consumer late
says "before snapshot 1, but 2 is the first that is left"
exits 0 changelog t --consumer late --anew
[ "$(wc -l <out)" = 2 ] || fail "a consumer that begins anew"

exits 2 changelog t --timeout 3
says "--follow"
exits 2 changelog t --from 0
says "at least 1"
exits 2 changelog t --option scan.tag-name=x
exits 2 changelog
says "an operand is missing"

# What lies behind --to is not done with, also where the last snapshots have no rows; those are, for a consumer.
exits 0 table create holes --columns "id INT NOT NULL" --primary-key id --bucket 1
for i in 1 2; do
    echo "{\"id\":$i}" >one.jsonl
    exits 0 ingest holes one.jsonl
done
echo '{"id":9}' >one.jsonl
exits 0 ingest holes one.jsonl --overwrite
echo '{"id":4}' >one.jsonl
exits 0 ingest holes one.jsonl
exits 0 changelog holes --consumer g --to 3
[ "$(wc -l <out)" = 2 ] || fail "up to 3"
exits 0 dump holes --system consumers
prints '"next_snapshot_id":4'
exits 0 changelog holes --consumer g
prints '"id":4'
exits 0 table create quiet --columns "id INT NOT NULL" --primary-key id --bucket 1 --option changelog-producer=lookup
exits 0 ingest quiet one.jsonl
exits 0 changelog quiet --consumer g
exits 0 dump quiet --system consumers
prints '"next_snapshot_id":2'
