/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a live split (realtime.md 17.1): the last disk split of a partition-bucket and a ticket for the view of its memory.
 * The only place that knows this layout; docs/protocol.md tells it to others. Big-endian; str and bytes have a u32 length in front.
 *
 *   u32   magic "PRTS"
 *   u16   version 1
 *   u16   flags: none yet. A reader refuses unknown ones of the upper half and ignores those of the lower
 *   16    id of the context that holds the memory
 *   i64   snapshot id, -1: none
 *   i64   schema id of the plan
 *   u32   n, n x ( str key, str value ) of the partition; values as in paths, before escaping
 *   i32   bucket
 *   i32   total buckets, -1: not fixed
 *   u8    mode: 1 append, 2 primary key
 *   i64   committed end: offsets below are in the snapshot
 *   i64   floor of the view
 *   i64   end of the view
 *   i64   rows shown from memory
 *   16    lineage
 *   str   ticket, may be empty
 *   u32   number of this part of the split, u32 how many there are
 *   bytes first key, bytes end key: a range; empty: open
 *   str   name of the store, may be empty
 *   bytes how the store opens the view elsewhere; empty: it cannot
 *   u32   n, n x bytes: disk splits, each as serde_split.h
 *   u32   CRC-32C of all bytes before
 */
#ifndef PML_REALTIME_RT_SERDE_H
#define PML_REALTIME_RT_SERDE_H

#include "realtime/rt_offsets.h"
#include "realtime/rt_ticket.h"

enum {
    RT_SPLIT_MAGIC = 0x50525453,
    RT_SPLIT_VERSION = 1,
    RT_SPLIT_BYTES_MAX = 512 * 1024 * 1024, /* the disk part has 256 MiB */
    RT_SPLIT_FLAGS_REQUIRED = 0xff00
};

typedef struct rt_split_form {
    uint8_t context[RT_UUID_BYTES];
    int64_t snapshot_id, schema_id;
    size_t n_partition;
    const char *const *keys, *const *values;
    int32_t bucket, total_buckets;
    uint8_t mode; /* PML_RT_MODE_* */
    int64_t committed, floor, end, rows;
    pml_lineage lineage;
    const char *ticket;
    uint32_t part, n_parts;
    pml_bytes key_first, key_end;
    const char *store;
    pml_bytes descriptor;
    size_t n_disk;
    const pml_bytes *disk;
} rt_split_form;

int pml_rt_serde__write_split(pml_buf *out, const rt_split_form *s, pml_error *err);
/* Texts and lists go to the arena, bytes are borrowed. PML_E_CORRUPT, PML_E_UNSUPPORTED (version, flags), PML_E_LIMIT. */
int pml_rt_serde__read_split(rt_split_form *out, pml_arena *arena, pml_bytes bytes, pml_error *err);
bool pml_rt_serde__is_split(pml_bytes bytes); /* has the magic */

#endif
