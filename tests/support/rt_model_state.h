/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the model share. */
#ifndef PML_TESTS_RT_MODEL_STATE_H
#define PML_TESTS_RT_MODEL_STATE_H

#include "support/faulty_fs.h"
#include "support/rt_model.h"
#include "support/rt_rows.h"
#include "support/sim_fs.h"
#include "table/table.h"

enum {
    MODEL_PBS = 9,
    MODEL_SNAPSHOTS = 600,
    MODEL_PLANS = 5,
    MODEL_STREAMS = 4,
    MODEL_ENTRIES = MODEL_PBS,
    MODEL_TAGS = 4,
    MODEL_TICKETS = 3,
    MODEL_TICKET_SPLITS = 12
};

/* Among the rows of tables with a primary key: a segment ends; all before it was compacted; of the runs before it the oldest `skip` stayed and
   the n behind them were compacted: MODEL_PARTLY - (skip * MODEL_RUNS_MAX + n). */
enum { MODEL_BORDER = -1, MODEL_COMPACTED = -2, MODEL_PARTLY = -10, MODEL_RUNS_MAX = 1000 };

#define MODEL_NO_WATERMARK INT64_MIN

#define MODEL_TABLE "/t"

typedef struct rt_ids {
    int64_t *v;
    size_t n, cap;
} rt_ids;

typedef enum mark_state { MARK_ABSENT, MARK_KNOWN, MARK_LOST } mark_state;
typedef enum mark_user { BY_NOBODY, BY_US, BY_OTHER } mark_user; /* which live writer */

/* What a snapshot says of one partition-bucket. */
typedef struct model_mark {
    mark_state state;
    int64_t end;
    uint64_t lineage;
    mark_user user; /* who moved it last */
    int64_t reset; /* id of the snapshot that reset it, 0: none. The next commit drops the mark once that one has expired */
} model_mark;

typedef enum part_fate { FATE_NONE, FATE_EMPTIED, FATE_UNCLEAR } part_fate;

typedef struct model_snapshot {
    bool exists, has_property;
    part_fate fate[RT_PARTITIONS]; /* of an OVERWRITE without the property */
    uint64_t nonce; /* what makes it another snapshot than an earlier one with its id */
    int64_t watermark; /* MODEL_NO_WATERMARK: none */
    model_mark marks[MODEL_PBS]; /* when has_property */
    rt_ids disk[MODEL_PBS]; /* with a primary key segments end with MODEL_BORDER */
} model_snapshot;

typedef enum live_state { LIVE_ACTIVE, LIVE_RESET, LIVE_LOST } live_state;

/* A partition-bucket of the running life. Rows: all accepted in this life, by offset. */
typedef struct live_pb {
    bool open;
    int64_t seen; /* oldest snapshot in which its progress was seen: from there on absence means removed; -1 none */
    live_state state;
    int64_t base, next, prepared, reclaimed, adopted, committed;
    uint64_t lineage;
    mark_user seen_user; /* of the entry that was adopted last */
    bool committed_here; /* by this life */
    rt_ids ids, offsets, borders; /* borders: offsets at which segments end */
} live_pb;

typedef enum entry_state { ENTRY_OPEN, ENTRY_DONE, ENTRY_ABORTED } entry_state;

typedef struct model_entry {
    int pb;
    int64_t begin, end, identifier;
    entry_state state;
    const pml_rt_entry *e;
} model_entry;

/* A snapshot that the context saw: its id, and which of those with this id. */
typedef struct model_point {
    int64_t id; /* -1: none */
    uint64_t nonce;
} model_point;

typedef struct model_plan {
    pml_plan *plan;
    int64_t snapshot;
    rt_ids expected;
    rt_lines lines; /* the same of a table with a primary key */
    char columns[8];
    int64_t limit;
    bool whole; /* the latest with memory, without condition and limit */
} model_plan;

/* The splits of a plan as bytes. */
typedef struct model_tickets {
    size_t n; /* 0: none */
    int live; /* that carry a ticket */
    long long drawn_ns;
    pml_text texts[MODEL_TICKET_SPLITS];
    model_plan plan; /* what they show; it has no plan */
} model_tickets;

typedef struct model_stream {
    struct ArrowArrayStream stream;
    rt_ids expected, got;
    rt_lines lines, got_lines;
    char columns[8];
    int64_t limit;
} model_stream;

typedef struct rt_model {
    const rt_model_options *o;
    rt_model_result *out;
    uint64_t rng;
    rt_shape shape;
    int n_parts, n_buckets, n_pbs;
    int32_t key_buckets[RT_KEYED_KEYS];
    sim_fs *sim;
    faulty_fs faulty;
    int (*stat)(void *ctx, pml_file_info *info, const char *path, pml_error *err); /* that of faulty */
    test_env *t;
    bool failed, ended;
    bool all_lost; /* the last progress expired */
    int64_t hidden; /* snapshot of which the file system says, when asked for it by name, that it is not there yet; 0: none */
    bool calm; /* nobody beats a commit */
    bool tidy; /* nothing is done that may leave files behind */
    uint64_t nonce;
    /* all rows ever sent */
    int64_t next_id;
    int *row_pb;
    size_t cap_rows;
    bool unordered[MODEL_PBS];
    /* the disk: snapshots 1 to n */
    model_snapshot *snapshots;
    int64_t latest; /* -1 */
    int64_t earliest;
    /* the life */
    pml_table *table;
    pml_rt_context *ctx;
    pml_rt_writer *writer;
    pml_commit *commit;
    model_mark opened[MODEL_PBS]; /* progress that a new partition-bucket begins with, and its snapshot */
    int64_t opened_snapshot;
    model_point began; /* the newest one, if above the advanced one, that a partition-bucket of this life began with */
    live_pb live[MODEL_PBS];
    int64_t identifier;
    model_point advanced;
    int64_t tags[MODEL_TAGS]; /* snapshot of the tag t<i>, 0: none */
    pml_rt_prepared *prepared, *old_prepared;
    model_entry entries[MODEL_ENTRIES], old_entries[MODEL_ENTRIES];
    size_t n_entries, n_old_entries;
    bool unknown;            /* a commit of the entries has an unknown outcome, */
    bool unknown_old;        /* of the old ones */
    bool unknown_selected[MODEL_ENTRIES];
    int64_t unknown_snapshot; /* the snapshot it made all the same, and that a power cut may take away; -1 */
    int64_t write_rows, rejected; /* counters of the context */
    rt_ids lost_ids[MODEL_PBS], lost_offsets[MODEL_PBS]; /* to be replayed */
    int64_t committed_rows;       /* of the entries that this life has committed, as they say */
    model_tickets tickets[MODEL_TICKETS];
    model_plan plans[MODEL_PLANS];
    model_stream streams[MODEL_STREAMS];
} rt_model;

/* ---- rt_model.c ---- */
uint64_t model_random(rt_model *m);
int64_t model_below(rt_model *m, int64_t n); /* 0 .. n - 1 */
bool model_chance(rt_model *m, int percent);
void model_fail(rt_model *m, const char *format, ...) PML_PRINTF(2, 3);
void model_log(rt_model *m, const char *format, ...) PML_PRINTF(2, 3);
/* Fails the model unless rc is the code. */
bool model_expect(rt_model *m, int code, int rc, const pml_error *err, const char *what);
void ids_add(rt_ids *ids, int64_t v);
void ids_copy(rt_ids *to, const rt_ids *from);
void ids_clear(rt_ids *ids);
int64_t model_new_row(rt_model *m, int pb);
/* The same, of a key that belongs there. */
int64_t model_new_row_of(rt_model *m, int pb);
/* Writers do not pass over it. */
bool model_is_kept(const rt_model *m, int64_t id);
/* Adds the rows of a partition-bucket with these offsets, and what segments they are of. */
void model_copy_rows(const rt_model *m, rt_ids *to, const live_pb *l, int64_t begin, int64_t end);
/* What a list of rows and borders says. */
void model_reference(const rt_model *m, rt_reference *r, const rt_ids *rows);
/* Buckets of the rows of a batch that has `first` columns before those of the table. */
void model_buckets(rt_model *m, int32_t *buckets, const struct ArrowArray *batch, int first);
void model_key_buckets(rt_model *m);

/* ---- rt_model_disk.c: what snapshots say ---- */
model_mark model_effective(const rt_model *m, int64_t snapshot, int pb);
/* The newest snapshot not after this one that has the property; 0: none. */
int64_t model_anchor(const rt_model *m, int64_t snapshot);
/* A new snapshot like the latest, without property. */
model_snapshot *model_push_snapshot(rt_model *m);
void model_drop_latest(rt_model *m);
void model_check_offsets(rt_model *m, int64_t snapshot);
/* The file of a snapshot. */
void model_remove_snapshot_file(rt_model *m, int64_t id);

/* ---- rt_model_litter.c ---- */
void model_check_litter(rt_model *m);

/* ---- rt_model_foreign.c: other actors on the table ---- */
typedef enum foreign_kind {
    FOREIGN_APPEND,
    FOREIGN_COMPACT,
    FOREIGN_TRUNCATE,
    FOREIGN_OVERWRITE,
    FOREIGN_DELETE_ROWS,
    FOREIGN_BATCH,
    FOREIGN_OUR_REMOVAL,
    FOREIGN_KINDS
} foreign_kind;
void model_foreign(rt_model *m, foreign_kind kind);
void model_skip_progress(rt_model *m);
/* Another process writes and commits live rows to one partition-bucket (test 81); afterwards this life has to end. */
void model_other_writer(rt_model *m);

/* ---- rt_model_read.c ---- */
void model_plan_new(rt_model *m);
void model_plan_count(rt_model *m);
/* Of the snapshot before the latest, with memory. */
void model_plan_old(rt_model *m);
/* While the plan is made what is prepared is committed and advanced. */
void model_plan_amid(rt_model *m);
void model_plan_drop(rt_model *m, bool all);
/* Makes a plan of splits, which answers the code, and reads it. */
void model_open_splits(rt_model *m, model_plan *expected, const pml_blob *splits, size_t n, int code);
void model_stream_open(rt_model *m);
void model_stream_step(rt_model *m, bool to_end);
void model_stream_drop(rt_model *m, bool all);
/* The latest rows by a fresh plan; without_memory: as any reader sees them. */
void model_read_all(rt_model *m, bool without_memory);

/* ---- rt_model_ticket.c ---- */
void model_ticket(rt_model *m);
void model_tickets_release(rt_model *m);
void model_tickets_forget(rt_model *m); /* with the context they are nothing any more */

/* ---- rt_model_travel.c: other snapshots than the latest, and other latest snapshots ---- */
typedef struct model_travel {
    int by; /* PML_SCAN_*; LATEST: nothing was chosen */
    int64_t value;
    char tag[8];
    int64_t snapshot; /* what must be found */
} model_travel;
/* Some snapshot and a way to ask for it. */
model_travel model_choose(rt_model *m);
void model_tag(rt_model *m);
void model_roll_back(rt_model *m);
/* Time passes without a commit, and a call notices. */
void model_reanchor(rt_model *m);
void model_set_hint(rt_model *m);
/* The latest snapshot was planned, and now the hint is old and the file system shows the next one late. */
void model_old_hint(rt_model *m);

/* ---- rt_model_write.c ---- */
void model_refresh_opened(rt_model *m); /* partition-buckets begin at the progress of now */
void model_write(rt_model *m, bool huge);
void model_write_invalid(rt_model *m);
void model_clear_live(live_pb *l);
void model_replay(rt_model *m);
void model_seal(rt_model *m);
void model_prepare(rt_model *m);

/* ---- rt_model_commit.c ---- */
void model_commit(rt_model *m);
void model_commit_one(rt_model *m); /* of several partition-buckets that are prepared */
void model_commit_again(rt_model *m);
void model_abort(rt_model *m);
void model_advance(rt_model *m, int64_t id);
/* What advance does to the model. */
void model_advanced(rt_model *m, int64_t id);
model_point model_newest_seen(const rt_model *m);
/* Another snapshot has its id now. */
bool model_is_rewritten(const rt_model *m, model_point p);
void model_forget_entries(rt_model *m);

/* ---- rt_model_life.c ---- */
void model_open(rt_model *m);
void model_leave_directories(rt_model *m);
void model_kill(rt_model *m, bool power_cut);
void model_reopen_writer(rt_model *m);
void model_check_metrics(rt_model *m);
void model_finish(rt_model *m);
/* Arms a fault for the next call; false: none. */
bool model_arm(rt_model *m);
void model_disarm(rt_model *m);
/* Whether the code may come from an armed fault. */
bool model_is_fault(int rc);

#endif
