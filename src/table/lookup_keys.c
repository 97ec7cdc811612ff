/* SPDX-License-Identifier: Apache-2.0 */
/* Keys out of texts. */
#include <paimonlive/lookup.h>

#include "columnar/batch.h"
#include "table/lookup_object.h"

/* One column: every n_keys-th value. */
static int column_make(struct ArrowArray *out, pml_arena *arena, const pml_field *f, const pml_literal *values, size_t n, size_t step,
                       pml_error *err)
{
    pml_builder *b = NULL;
    int rc;
    PML_TRY(pml_builder__new(&b, arena->env, &f->type, err));
    for (size_t i = 0; rc == PML_OK && i < n; i += step) {
        pml_value v;
        if (values[i].text == NULL) {
            rc = pml_error__set(err, PML_E_INVAL, "column '%s' of a key cannot be null", f->name);
            break;
        }
        rc = pml_value__parse(&v, arena, &f->type, values[i].text, values[i].len, err);
        if (rc != PML_OK) {
            rc = pml_error__prefix(err, rc, "column '%s' of a key", f->name);
            break;
        }
        rc = pml_builder__append_value(b, &v);
        if (rc != PML_OK)
            rc = rc == PML_E_NOMEM ? pml_error__no_memory(err)
                                   : pml_error__set(err, rc, "column '%s' of a key: '%.*s' does not fit its type", f->name, (int)values[i].len, values[i].text);
    }
    if (rc == PML_OK)
        rc = pml_builder__finish(b, out, err);
out:
    pml_builder__free(b);
    return rc;
}

static int columns_make(struct ArrowArray *out, const pml_lookup_base *base, pml_arena *arena, const pml_literal *values, size_t n, pml_error *err)
{
    size_t n_keys = base->n_keys, made = 0;
    int rc = PML_OK;
    struct ArrowArray *columns = pml_arena__array(arena, n_keys, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (; rc == PML_OK && made < n_keys; made += rc == PML_OK)
        rc = column_make(&columns[made], arena, &base->key_fields[made], values + made, n > made ? n - made : 0, n_keys, err);
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, arena->env, columns, n_keys, (int64_t)(n / n_keys), err);
    for (size_t i = 0; rc != PML_OK && i < made; i++)
        pml_array__release(&columns[i]);
    return rc;
}

int pml_lookup_keys(struct ArrowArray *out, pml_lookup *l, const pml_literal *values, size_t n, pml_error *err)
{
    pml_arena arena;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (struct ArrowArray){0};
    PML_RETURN_IF(pml_error__need_array(values, n, "values", err));
    pml_lookup_base *base = pml_lookup__base(l);
    pml_arena__init(&arena, base->plan->env);
    int rc = n % base->n_keys == 0 ? columns_make(out, base, &arena, values, n, err)
                                   : pml_error__set(err, PML_E_INVAL, "%zu values are no whole keys: a key has %zu columns", n, base->n_keys);
    pml_arena__clear(&arena);
    pml_lookup_base__release(base);
    return rc;
}
