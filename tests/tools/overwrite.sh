# SPDX-License-Identifier: Apache-2.0
# Rows are replaced and removed: whole tables, partitions by some of their keys; offsets show the reset.
. "$PML_TEST_SOURCE/tools/support/check.sh"

printf 'id,p,d\n1,a,2026-01-01\n2,a,2026-01-02\n3,b,2026-01-01\n4,,2026-01-02\n' >rows.csv
printf 'id,p,d\n7,a,2026-01-01\n' >new.csv
printf 'id,p,d\n' >none.csv
exits 0 table create t --columns "id INT NOT NULL, p STRING, d DATE" --partition-by p,d
exits 0 ingest t rows.csv

# Dynamic: only the partition that gets rows.
exits 0 ingest t new.csv --overwrite
says "1 row in 1 commit, snapshot 2"
says "replaced: 1 row in 1 file"
exits 0 scan t --columns id --format csv
LC_ALL=C sort out | tr '\n' ' ' | grep -q '^2 3 4 7 id $' || fail "the dynamic overwrite left other rows"
exits 0 snapshots t --format csv
prints OVERWRITE
exits 0 ingest t none.csv --overwrite
says "no rows, no snapshot"

# By spec: rows outside of it are refused, none replace too.
exits 2 ingest t new.csv --overwrite --partition p=b
says "outside"
exits 0 count t
prints_exactly 4
exits 0 ingest t none.csv --overwrite --partition d=2026-01-02
says "replaced: 2 rows in 2 files"
exits 0 count t
prints_exactly 2
exits 2 ingest t new.csv --partition p=b
says "--overwrite"
exits 2 ingest t new.csv --overwrite --live
says "--live"
exits 2 ingest t new.csv --overwrite --partition p
says "KEY=VALUE"

exits 2 table drop-partition t p=a
says "--yes"
exits 2 table drop-partition t p --yes
says "KEY=VALUE"
exits 4 table drop-partition t x=1 --yes
says "x is no partition key"
exits 2 table drop-partition t d=soon --yes
says "partition key d"
exits 0 table drop-partition t p=a d=2026-01-01 --yes
says "snapshot 4; removed 1 row in 1 file"
exits 0 table drop-partition t p=nothing --yes
says "no partition matches: no rows were removed"
exits 0 count t
prints_exactly 1
exits 0 ingest t rows.csv
exits 0 table drop-partition t p=__DEFAULT_PARTITION__ --yes
exits 0 count t
prints_exactly 4

exits 2 table truncate t
says "--yes"
exits 0 table truncate t --yes
says "; removed 4 rows in 4 files"
exits 0 count t
prints_exactly 0
exits 0 table truncate t --yes
says "the table was empty: no rows were removed"

# Values as in directory names, so that what is shown can be given.
printf 'id,p\n1,a/b\n2,a%%2Fb\n3,\n' >paths.csv
exits 0 table create e --columns "id INT NOT NULL, p STRING" --partition-by p
exits 0 ingest e paths.csv
exits 0 table drop-partition e p=a%2Fb --yes
says "removed 1 row"
exits 0 scan e --columns id --format csv
LC_ALL=C sort out | tr '\n' ' ' | grep -q '^2 3 id $' || fail "another partition was dropped"
exits 0 table drop-partition e p=a%252Fb --yes
says "removed 1 row"
exits 2 table drop-partition e p=a%00 --yes
says "%00"
exits 2 ingest e paths.csv --overwrite --partition p=%00
says "%00"
exits 0 table create plain --columns "id INT"
exits 2 table drop-partition plain p=a --yes
says "pml table truncate"

# Live progress begins anew.
exits 0 table create l --live --columns "id INT NOT NULL, p STRING, d DATE" --partition-by p
exits 0 ingest l rows.csv --live
exits 0 table drop-partition l p=a --yes
exits 0 offsets l --format csv
prints "p=a,0,0,reset,"
prints "p=b,0,1,ok,"
exits 0 ingest l new.csv --live
exits 0 offsets l --format csv
prints "p=a,0,1,ok,"
exits 0 table truncate l --yes
exits 0 offsets l --format csv
prints "p=b,0,0,reset,"
