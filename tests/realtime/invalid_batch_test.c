/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 100: batches that do not keep to the Arrow C interface or to the table's schema are refused by the write call before anything
 * reads them, the array stays the caller's, and the writer goes on as if nothing had been sent. Each level of
 * realtime.validate-input sees at least what the one below sees; what no level can see (a buffer shorter than its rows) is the
 * caller's word.
 */
#include <string.h>

#include "support/rt_kit.h"

enum { ROWS = 6, ID = 0, P = 1, V = 2 };
typedef enum level { TRUSTED, BASIC, FULL, LEVELS } level;

static const char *const levels[LEVELS] = {"trusted", "basic", "full"};

/* Changes the batch; the node it changes is restored from a copy before the batch is released. */
typedef void (*damage)(struct ArrowArray *batch);

static int32_t *text_offsets(struct ArrowArray *batch)
{
    return (int32_t *)(uintptr_t)batch->children[V]->buffers[1];
}

static void struct_longer_than_its_columns(struct ArrowArray *b) { b->length = ROWS + 1; }
static void struct_of_negative_length(struct ArrowArray *b) { b->length = -1; }
static void struct_past_the_end(struct ArrowArray *b) { b->offset = INT64_MAX; }
static void struct_of_too_few_columns(struct ArrowArray *b) { b->n_children = 2; }
static void struct_without_columns(struct ArrowArray *b) { b->children = NULL; }
static void column_too_short(struct ArrowArray *b) { b->children[ID]->length = ROWS - 1; }
static void column_of_negative_offset(struct ArrowArray *b) { b->children[ID]->offset = -1; }
static void column_past_the_end(struct ArrowArray *b) { b->children[ID]->offset = INT64_MAX - 1; }
static void column_without_buffers(struct ArrowArray *b) { b->children[ID]->buffers = NULL; }
static void column_of_too_few_buffers(struct ArrowArray *b) { b->children[V]->n_buffers = 2; }
static void column_of_too_many_nulls(struct ArrowArray *b) { b->children[V]->null_count = ROWS + 1; }
static void values_missing(struct ArrowArray *b) { b->children[ID]->buffers[1] = NULL; }
static void text_offsets_missing(struct ArrowArray *b) { b->children[V]->buffers[1] = NULL; }
static void text_bytes_missing(struct ArrowArray *b) { b->children[V]->buffers[2] = NULL; }
static void first_text_before_the_start(struct ArrowArray *b) { text_offsets(b)[0] = -5; }
static void last_text_of_negative_length(struct ArrowArray *b) { text_offsets(b)[ROWS] = -1; }
static void texts_that_overlap(struct ArrowArray *b) { text_offsets(b)[2] = text_offsets(b)[3] + 1; }
static void bytes_that_are_no_text(struct ArrowArray *b) { ((char *)(uintptr_t)b->children[V]->buffers[2])[3] = (char)0xFF; }

static void nulls_without_a_bitmap(struct ArrowArray *b)
{
    b->children[V]->buffers[0] = NULL;
    b->children[V]->null_count = 2;
}

static void null_where_none_may_be(struct ArrowArray *b)
{
    static const uint8_t bits[] = {0x3D}; /* row 1 */
    b->children[ID]->buffers[0] = bits;
    b->children[ID]->null_count = -1; /* not counted by the caller */
}

static const struct {
    const char *name;
    damage make;
    level from; /* the weakest level that refuses it */
} cases[] = {
    {"struct longer than its columns", struct_longer_than_its_columns, TRUSTED},
    {"struct of negative length", struct_of_negative_length, TRUSTED},
    {"struct past the end", struct_past_the_end, TRUSTED},
    {"struct of too few columns", struct_of_too_few_columns, TRUSTED},
    {"struct without columns", struct_without_columns, TRUSTED},
    {"column too short", column_too_short, TRUSTED},
    {"column of negative offset", column_of_negative_offset, TRUSTED},
    {"column past the end", column_past_the_end, TRUSTED},
    {"column without buffers", column_without_buffers, TRUSTED},
    {"column of too few buffers", column_of_too_few_buffers, TRUSTED},
    {"column of too many nulls", column_of_too_many_nulls, TRUSTED},
    {"nulls without a bitmap", nulls_without_a_bitmap, TRUSTED},
    {"values missing", values_missing, TRUSTED},
    {"text offsets missing", text_offsets_missing, TRUSTED},
    {"text bytes missing", text_bytes_missing, TRUSTED},
    {"first text before the start", first_text_before_the_start, TRUSTED},
    {"last text of negative length", last_text_of_negative_length, TRUSTED},
    {"texts that overlap", texts_that_overlap, BASIC},
    {"null where none may be", null_where_none_may_be, BASIC},
    {"bytes that are no text", bytes_that_are_no_text, BASIC},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* One node's fields and what its buffers held: enough to undo each damage above. */
typedef struct saved {
    struct ArrowArray node;
    const void *buffers[3];
} saved;

static saved save(const struct ArrowArray *a)
{
    saved s = {.node = *a};
    for (int64_t i = 0; i < a->n_buffers; i++)
        s.buffers[i] = a->buffers[i];
    return s;
}

static void restore(struct ArrowArray *a, const saved *s)
{
    *a = s->node;
    for (int64_t i = 0; i < a->n_buffers; i++)
        a->buffers[i] = s->buffers[i];
}

static int write_damaged(rt_kit *k, damage make, pml_error *err)
{
    struct ArrowSchema schema = rt_kit_schema(k);
    struct ArrowArray batch = rt_kit_batch(k, ROWS, "a");
    const saved top = save(&batch), columns[] = {save(batch.children[ID]), save(batch.children[P]), save(batch.children[V])};
    make(&batch);
    int rc = pml_rt_write(NULL, k->w, &batch, &schema, NULL, err);
    schema.release(&schema);
    if (rc == PML_OK)
        return rc;
    assert_non_null(batch.release); /* refused: still ours */
    restore(&batch, &top);
    for (int i = 0; i < 3; i++)
        restore(batch.children[i], &columns[i]);
    batch.release(&batch);
    return rc;
}

static void batches_that_break_the_rules_are_refused_without_effect(void **state)
{
    (void)state;
    for (level l = TRUSTED; l < LEVELS; l++) {
        rt_kit k;
        const char *const option[] = {"realtime.validate-input", levels[l]};
        int refused = 0;
        rt_kit_create(&k, NULL, "", "");
        rt_kit_start(&k, NULL, option);
        for (int i = 0; i < CASES; i++) {
            pml_error err = PML_ERROR_INIT;
            if (cases[i].from > l)
                continue;
            int rc = write_damaged(&k, cases[i].make, &err);
            if (rc == PML_OK || (err.flags & PML_ERRF_NO_EFFECT) == 0)
                fail_msg("%s, %s: %s", levels[l], cases[i].name, rc == PML_OK ? "taken" : "effect not ruled out");
            assert_int_equal(rc, PML_E_INVAL);
            assert_true(strlen(err.message) > 0);
            refused++;
        }
        rt_kit_write(&k, ROWS, "a");
        rt_kit_must_show(&k, 0, ROWS);
        assert_int_equal(rt_kit_metrics(&k).rejected_batches, refused);
        (void)rt_kit_cycle(&k, 1);
        rt_kit_must_store(&k, 0, ROWS);
        rt_kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_that_break_the_rules_are_refused_without_effect)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
