/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listagg. The accumulator is the text of a row as long as it can be, so that a key with one text copies nothing; then it is joined
 * in a buffer of its own. With `distinct` the tokens of the buffer are kept in a map as long as text is only added behind.
 */
#include "merge/aggregate.h"

enum { TEXT_MAX = INT32_MAX };

typedef struct text {
    pml_bytes delimiter, separator; /* between values; where tokens end */
    bool distinct;
    const pml_fold *fold;
    enum { TEXT_NULL, TEXT_PICKED, TEXT_JOINED } form;
    pml_row_ref ref;
    pml_buf joined, spare;
    pml_map tokens;
    bool tokens_current; /* tokens are those of joined */
} text;

static int text_open(pml_aggregator *a, const pml_merge_options *o, pml_error *err)
{
    text *t = a->state;
    const char *delimiter = pml_merge_options__field(o, a->column, "list-agg-delimiter");
    pml_buf__init(&t->joined, a->env, TEXT_MAX);
    pml_buf__init(&t->spare, a->env, TEXT_MAX);
    pml_map__init(&t->tokens, a->env);
    delimiter = delimiter != NULL ? delimiter : ",";
    t->delimiter = (pml_bytes){(const uint8_t *)delimiter, strlen(delimiter)};
    /* Java splits at blanks where it joins with nothing. */
    t->separator = t->delimiter.len > 0 ? t->delimiter : (pml_bytes){(const uint8_t *)" ", 1};
    return pml_merge_options__field_bool(&t->distinct, o, a->column, "distinct", err);
}

static void text_drop(pml_aggregator *a)
{
    text *t = a->state;
    pml_buf__clear(&t->joined);
    pml_buf__clear(&t->spare);
    pml_map__clear(&t->tokens, NULL);
}

static void text_begin(pml_aggregator *a, const pml_fold *f)
{
    text *t = a->state;
    t->fold = f;
    t->form = TEXT_NULL;
}

static pml_bytes value_of(const pml_aggregator *a, const text *t, pml_row_ref ref)
{
    pml_value v;
    pml_item item = pml_fold__item(t->fold, a, ref);
    pml_value__get(&v, a->type, item.array, item.row);
    return v.bytes;
}

static pml_bytes accumulator(const pml_aggregator *a, const text *t)
{
    return t->form == TEXT_JOINED ? (pml_bytes){t->joined.data, t->joined.len} : value_of(a, t, t->ref);
}

static int append(pml_buf *out, pml_bytes b)
{
    return b.len == 0 ? PML_OK : pml_buf__append(out, b.ptr, b.len);
}

/* The next token of a text as BinaryStringUtils.splitByWholeSeparatorPreserveAllTokens finds it; *at starts at 0. */
static bool next_token(const text *t, pml_bytes all, size_t *at, pml_bytes *token)
{
    if (*at >= all.len)
        return false;
    const uint8_t *from = all.ptr + *at;
    const uint8_t *end = memmem(from, all.len - *at, t->separator.ptr, t->separator.len);
    *token = (pml_bytes){from, end != NULL ? (size_t)(end - from) : all.len - *at};
    *at += token->len + (end != NULL ? t->separator.len : 0);
    return true;
}

static int note_token(text *t, pml_bytes token)
{
    return token.len == 0 ? PML_OK : pml_map__put(&t->tokens, token.ptr, token.len, t, NULL);
}

/* Appends the tokens of in that the buffer does not have. */
static int join_tokens(text *t, pml_bytes in)
{
    pml_bytes token;
    if (!t->tokens_current) {
        pml_map__clear(&t->tokens, NULL);
        pml_map__init(&t->tokens, t->joined.env);
        for (size_t at = 0; next_token(t, (pml_bytes){t->joined.data, t->joined.len}, &at, &token);)
            PML_RETURN_IF(note_token(t, token));
        t->tokens_current = true;
    }
    for (size_t at = 0; next_token(t, in, &at, &token);) {
        if (token.len == 0 || pml_map__has(&t->tokens, token.ptr, token.len))
            continue;
        PML_RETURN_IF(note_token(t, token));
        PML_RETURN_IF(append(&t->joined, t->delimiter));
        PML_RETURN_IF(append(&t->joined, token));
    }
    return PML_OK;
}

/* agg(x, y), neither of them empty; x is the accumulator unless reversed. */
static int join(pml_aggregator *a, text *t, pml_row_ref in, bool reversed)
{
    pml_bytes acc = accumulator(a, t), other = value_of(a, t, in);
    bool behind = t->form == TEXT_JOINED && !reversed;
    if (!behind) {
        pml_buf__reset(&t->spare);
        PML_RETURN_IF(append(&t->spare, reversed ? other : acc));
        t->tokens_current = false;
    }
    if (!behind && !t->distinct) {
        PML_RETURN_IF(append(&t->spare, t->delimiter));
        PML_RETURN_IF(append(&t->spare, reversed ? acc : other));
    }
    if (!behind) {
        pml_buf old = t->joined;
        t->joined = t->spare;
        t->spare = old;
        t->form = TEXT_JOINED;
        return t->distinct ? join_tokens(t, reversed ? acc : other) : PML_OK;
    }
    if (t->distinct)
        return join_tokens(t, other);
    PML_RETURN_IF(append(&t->joined, t->delimiter));
    return append(&t->joined, other);
}

static void take(text *t, pml_row_ref in)
{
    t->form = in.batch == PML_REF_NULL ? TEXT_NULL : TEXT_PICKED;
    t->ref = in;
    t->tokens_current = false;
}

static int text_step(pml_aggregator *a, pml_fold_op op, pml_row_ref in, pml_error *err)
{
    text *t = a->state;
    bool reversed = op == PML_FOLD_REVERSED;
    if (op == PML_FOLD_TAKE || op == PML_FOLD_CLEAR) {
        take(t, op == PML_FOLD_TAKE ? in : (pml_row_ref){PML_REF_NULL, 0});
        return PML_OK;
    }
    if (in.batch == PML_REF_NULL)
        return PML_OK;
    if (t->form == TEXT_NULL) {
        take(t, in);
        return PML_OK;
    }
    /* An empty text adds nothing; which of two empty ones stays makes no difference. */
    if (value_of(a, t, in).len == 0)
        return PML_OK;
    if (accumulator(a, t).len == 0) {
        take(t, in);
        return PML_OK;
    }
    return pml_aggregator__explain(a, join(a, t, in, reversed), err);
}

static int text_end(pml_aggregator *a, pml_merge_output *out, pml_error *err)
{
    text *t = a->state;
    (void)err;
    if (t->form != TEXT_JOINED)
        return pml_merge_output__pick(out, a->position, t->form == TEXT_NULL ? (pml_row_ref){PML_REF_NULL, 0} : t->ref);
    pml_value v = {.kind = PML_VALUE_BYTES, .bytes = {t->joined.data, t->joined.len}};
    return pml_merge_output__value(out, a->position, &v);
}

const pml_aggregator_kind pml_aggregator_text = {
    .state_size = sizeof(text),
    .open = text_open,
    .drop = text_drop,
    .begin = text_begin,
    .step = text_step,
    .end = text_end,
};
