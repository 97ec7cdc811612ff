# SPDX-License-Identifier: Apache-2.0
# Offsets are watched, repaired when they are lost, and their old files are removed.
. "$PML_TEST_SOURCE/tools/support/check.sh"

printf 'id,p,q\n1,a,x/y\n2,a,x/y\n3,b,\n' >rows.csv
exits 0 table create ./t --live --columns "id INT NOT NULL, p STRING, q STRING" --partition-by p,q
exits 0 ingest ./t rows.csv --live --user u

# ---- watch: first everything, then what changes
wait_for() { # LINES: until the watcher has written so many
    n=0
    while [ "$(wc -l <seen)" -lt "$1" ]; do
        n=$((n + 1))
        [ $n -lt 300 ] || fail "the watcher wrote $(cat seen)"
        sleep 0.1
    done
}
"$PML" offsets ./t --watch --interval 1 --format json >seen 2>watch_err &
watcher=$!
wait_for 2
printf 'id,p,q\n4,c,z\n' >more.csv
exits 0 ingest ./t more.csv --live --user u
wait_for 3
exits 0 ingest ./t more.csv # a plain commit changes no offset
exits 0 table drop-partition ./t p=c --yes
wait_for 4
kill -INT $watcher
code=0
wait $watcher || code=$?
[ $code -eq 0 ] || fail "the watcher ended with $code: $(cat watch_err)"
[ "$(wc -l <seen)" -eq 4 ] || fail "the watcher wrote $(cat seen)"
sed -n 1p seen | grep -q '^{"snapshot":1,"partition":"p=a/q=x%2Fy","bucket":0,"tiered":2,"state":"ok","lineage":"' || fail "line 1: $(cat seen)"
sed -n 3p seen | grep -q '^{"snapshot":2,"partition":"p=c/q=z","bucket":0,"tiered":1,"state":"ok"' || fail "line 3: $(cat seen)"
sed -n 4p seen | grep -q '^{"snapshot":4,"partition":"p=c/q=z","bucket":0,"tiered":0,"state":"reset"' || fail "line 4: $(cat seen)"
sed -n 1p seen | grep -q '","values":{"p":"a","q":"x/y"}}$' || fail "line 1: $(cat seen)"
exits 2 offsets ./t --watch --snapshot 1
says "--snapshot does not go with it"
exits 2 offsets ./t --interval 1
says "--watch"

# ---- repair: a snapshot by somebody who replaced rows and does not know of progress
printf 'id,p,q\n9,a,x/y\n' >new.csv
exits 0 ingest ./t new.csv
exits 0 ingest ./t new.csv --overwrite
sed -i '/"properties"/,/}/d' t/snapshot/snapshot-6
exits 0 offsets ./t --format csv
prints "p=a/q=x%2Fy,0,,lost,"
prints "p=b/q=__DEFAULT_PARTITION__,0,1,ok,"
exits 1 ingest ./t new.csv --live --user u
says "lost"
exits 2 offsets repair ./t
says "--last-known"
exits 2 offsets repair ./t p=a/bucket-0=2
says "every partition key"
exits 2 offsets repair ./t p=a/q=x%2Fy/bucket-0=two
exits 2 offsets repair ./t p=a%00zz/q=1/bucket-0=1
says "%00"
exits 2 offsets repair ./t p=b/q=__DEFAULT_PARTITION__/bucket-0=3
says "committed end is 1"
exits 0 offsets ./t --format csv
fed_back=$(sed -n 's/,0,,lost,.*/\/bucket-0=7/p' out) # what is shown is what repair takes
exits 0 offsets repair ./t "$fed_back"
says "snapshot 7"
exits 0 offsets ./t --format csv
prints "p=a/q=x%2Fy,0,7,ok,"
exits 0 offsets repair ./t --last-known
says "nothing to repair"
exits 0 ingest ./t new.csv --live --user u
exits 0 offsets ./t --format csv
prints "p=a/q=x%2Fy,0,8,ok,"
exits 0 ingest ./t new.csv
exits 0 ingest ./t new.csv --overwrite
sed -i '/"properties"/,/}/d' t/snapshot/snapshot-10
exits 0 offsets repair ./t --last-known
says "snapshot 11"
exits 0 offsets ./t --format csv
prints "p=a/q=x%2Fy,0,8,ok,"

# ---- clean
exits 0 offsets clean ./t
says "0 files removed"
rm t/snapshot/snapshot-[1-7]
exits 0 offsets clean ./t --dry-run --format csv
prints_lines 1
says "0 files to be removed"
touch -d "3 days ago" t/metadata/*.offsets
touch -d "2 days ago" "$(ls t/metadata/*.offsets | head -1)"
before=$(ls t/metadata | wc -l)
exits 0 offsets clean ./t --dry-run --format json
[ "$(ls t/metadata | wc -l)" -eq "$before" ] || fail "a dry run removed something"
gone=$(wc -l <out)
[ "$gone" -ge 2 ] || fail "nothing to remove: $(cat out err)"
exits 0 offsets clean ./t --older-than 7d
says "0 files removed"
exits 0 offsets clean ./t --older-than "36 h"
says "$gone files removed"
[ "$(ls t/metadata | wc -l)" -eq $((before - gone)) ] || fail "the count is wrong"
exits 0 offsets ./t --format csv
prints "p=a/q=x%2Fy,0,8,ok,"
exits 2 offsets clean ./t --older-than soon
says "--older-than"

# ---- all lost: what has no files is no partition-bucket, but for one who says so
rm t/snapshot/snapshot-8 t/snapshot/snapshot-9 t/snapshot/snapshot-10
sed -i '/"properties"/,/}/d' t/snapshot/snapshot-11
exits 0 offsets ./t --format csv
prints_lines 1
says "pml offsets repair"
exits 1 offsets repair ./t --last-known
exits 2 offsets repair ./t p=a/q=x%2Fy/bucket-0=8
says "p=b/q=__DEFAULT_PARTITION__/bucket-0"
exits 2 offsets repair ./t p=a/q=x%2Fy/bucket-0=8 p=b/q=/bucket-0=1 p=zz/q=1/bucket-0=7
says "p=zz/q=1/bucket-0 has no files"
exits 2 offsets repair ./t p=a/q=x%2Fy/bucket-0=8 p=b/q=/bucket-0=1 p=a/q=x%2Fy/bucket-1=7
says "p=a/q=x%2Fy/bucket-1 has no files"
exits 0 offsets repair ./t p=a/q=x%2Fy/bucket-0=8 p=b/q=/bucket-0=1
exits 0 offsets ./t --format csv
prints "p=b/q=__DEFAULT_PARTITION__,0,1,ok,"
exits 0 ingest ./t rows.csv --live --user u

# ---- the progress file was taken away
rm t/metadata/*.offsets
exits 1 offsets ./t
says "pml offsets repair"
exits 1 ingest ./t rows.csv --live --user u
exits 1 offsets repair ./t --last-known
exits 2 offsets repair ./t p=a/q=x%2Fy/bucket-0=10
says "p=b/q=__DEFAULT_PARTITION__/bucket-0"
exits 0 offsets repair ./t p=a/q=x%2Fy/bucket-0=10 p=b/q=/bucket-0=2
exits 0 offsets ./t --format csv
prints "p=b/q=__DEFAULT_PARTITION__,0,2,ok,"
exits 0 ingest ./t rows.csv --live --user u
rm t/metadata/*.offsets
exits 0 ingest ./t more.csv
exits 1 offsets ./t
exits 0 table truncate ./t --yes
exits 0 offsets ./t --format csv
prints "p=b/q=__DEFAULT_PARTITION__,0,0,reset,"

exits 0 table create ./u --live --columns "id INT NOT NULL, p STRING" --partition-by p
printf 'id,p\n1,a\n' >one.csv
exits 0 ingest ./u one.csv --live
exits 0 ingest ./u one.csv
rm u/snapshot/snapshot-1
sed -i '/"properties"/,/}/d' u/snapshot/snapshot-2
exits 2 offsets repair ./u p=a/bucket-0=1 p=gone/bucket-0=5
exits 0 offsets repair ./u p=a/bucket-0=1 p=gone/bucket-0=5 p=new/bucket-0=0 --without-files
exits 0 offsets ./u --format csv
prints "p=gone,0,5,ok,"
