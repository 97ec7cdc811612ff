#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Both parts of the demo with a few flights: killed half way, started again, compared with the file and the model. Then the table
# must differ from what another file says, so that the comparison is one. demo.sh PML_DEMO PML
set -eu
demo=$1 pml=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Every 41st flight is cancelled, every 67th never arrives.
awk 'BEGIN {
    print "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest," \
          "air_time,distance,hour,minute,time_hour"
    for (i = 0; i < 3000; i++) {
        late = i % 50 - 10
        flown = i % 41 > 0; landed = flown && i % 67 > 0
        printf "2013,%d,%d,%s,700,%s,%s,900,%s,%s,%d,%s,JFK,%s,%s,500,7,0,2013-01-01T12:00:00Z\n", \
            1 + int(i / 1500), 1 + int(i % 1500 / 60), flown ? (late < 0 ? 660 + late : 700 + late) : "NA", \
            flown ? late : "NA", landed ? 900 + i % 60 : "NA", landed ? i % 60 : "NA", i % 3 ? "UA" : "B6", i, \
            flown ? "N" i : "NA", i % 2 ? "BOS" : "SFO", landed ? 100 + i % 60 : "NA"
    }
}' >"$dir/flights.csv"

"$demo" --csv "$dir/flights.csv" --warehouse "$dir/warehouse" --batch-rows 100 --rate 1200 --commit-every 150 \
    --upsert-rate 4000 --upsert-commit-every 150 >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
cat "$dir/out"
test "$(grep -c '^Killed with SIGKILL' "$dir/out")" = 2
test "$(grep -c '3,000 rows, 3,000 distinct row numbers; the file has 3,000' "$dir/out")" = 2
test "$(tail -n 1 "$dir/out")" = PASS

# One report of one flight says something else: 1020 departed late, and an estimate that it will not came in after that.
verify() { "$demo" --csv "$dir/$1" --warehouse "$dir/warehouse" --only upserts --verify 1; }
verify flights.csv
awk -F, -v OFS=, '$11 == 1020 { $6 = 0; $4 = $5; $12 = "NA" } { print }' "$dir/flights.csv" >"$dir/estimated.csv"
! verify estimated.csv >"$dir/out"
grep 'MISMATCH: 0 rows missing, 0 doubled, 1 with other values' "$dir/out"

# The command finds what the program left.
"$pml" lookup "$dir/warehouse/default.db/flight_status" month=1,day=18,carrier=B6,flight=1020,origin=JFK \
    --columns dep_time,dep_delay,tailnum --format csv | tail -n 1 | grep -Fx '710,10,N1020'
