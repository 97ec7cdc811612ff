/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/aggregate.h"

enum { FOR_ANY, FOR_NUMERIC, FOR_BOOLEAN, FOR_STRING, FOR_VARBINARY, FOR_ARRAY, FOR_MAP, FOR_ROWS };

typedef struct known {
    const char *name;
    const pml_aggregator_kind *kind; /* NULL: not built */
    int mode, types;
    bool retracts;
} known;

/* primary-key is a function of its own in Java, so that a schema may name it. */
static const known functions[] = {
    {"last_non_null_value", &pml_aggregator_pick, PML_PICK_LAST_NON_NULL, FOR_ANY, true},
    {"last_value", &pml_aggregator_pick, PML_PICK_LAST, FOR_ANY, true},
    {"first_value", &pml_aggregator_pick, PML_PICK_FIRST, FOR_ANY, false},
    {"first_non_null_value", &pml_aggregator_pick, PML_PICK_FIRST_NON_NULL, FOR_ANY, false},
    {"first_not_null_value", &pml_aggregator_pick, PML_PICK_FIRST_NON_NULL, FOR_ANY, false},
    {"primary-key", &pml_aggregator_pick, PML_PICK_KEY, FOR_ANY, true},
    {"max", &pml_aggregator_pick, PML_PICK_MAX, FOR_ANY, false},
    {"min", &pml_aggregator_pick, PML_PICK_MIN, FOR_ANY, false},
    {"bool_and", &pml_aggregator_pick, PML_PICK_AND, FOR_BOOLEAN, false},
    {"bool_or", &pml_aggregator_pick, PML_PICK_OR, FOR_BOOLEAN, false},
    {"sum", &pml_aggregator_number, PML_NUMBER_SUM, FOR_NUMERIC, true},
    {"product", &pml_aggregator_number, PML_NUMBER_PRODUCT, FOR_NUMERIC, true},
    {"listagg", &pml_aggregator_text, 0, FOR_STRING, false},
    {"collect", &pml_aggregator_collect, 0, FOR_ARRAY, true},
    {"merge_map", &pml_aggregator_map, PML_MAP_MERGE, FOR_MAP, true},
    {"merge_map_with_keytime", &pml_aggregator_map, PML_MAP_KEYTIME, FOR_MAP, false},
    {"nested_update", &pml_aggregator_nested, PML_NESTED_UPDATE, FOR_ROWS, true},
    {"nested_partial_update", &pml_aggregator_nested, PML_NESTED_PARTIAL_UPDATE, FOR_ROWS, false},
    {"rbm32", &pml_aggregator_bitmap, 0, FOR_VARBINARY, false},
    {"rbm64", &pml_aggregator_bitmap64, 0, FOR_VARBINARY, false},
    {"hll_sketch", NULL, 0, FOR_VARBINARY, false},
    {"theta_sketch", NULL, 0, FOR_VARBINARY, false},
};

static const known *find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

bool pml_aggregator__is_known(const char *name)
{
    return find(name) != NULL;
}

static bool takes(int types, const pml_type *t)
{
    bool numeric = (t->kind >= PML_TYPE_TINYINT && t->kind <= PML_TYPE_DOUBLE) || t->kind == PML_TYPE_DECIMAL;
    switch (types) {
    case FOR_NUMERIC: return numeric;
    case FOR_BOOLEAN: return t->kind == PML_TYPE_BOOLEAN;
    case FOR_STRING: return t->kind == PML_TYPE_VARCHAR && t->length == INT32_MAX;
    case FOR_VARBINARY: return t->kind == PML_TYPE_VARBINARY;
    case FOR_ARRAY: return t->kind == PML_TYPE_ARRAY;
    case FOR_MAP: return t->kind == PML_TYPE_MAP;
    case FOR_ROWS: return t->kind == PML_TYPE_ARRAY && t->children[0].type.kind == PML_TYPE_ROW;
    default: return true;
    }
}

static const char *wanted_type(int types)
{
    switch (types) {
    case FOR_NUMERIC: return "a numeric column";
    case FOR_BOOLEAN: return "a BOOLEAN column";
    case FOR_STRING: return "a STRING column";
    case FOR_VARBINARY: return "a VARBINARY column";
    case FOR_ARRAY: return "an ARRAY column";
    case FOR_MAP: return "a MAP column";
    case FOR_ROWS: return "an ARRAY<ROW> column";
    default: return "another column";
    }
}

static int check_function(const known *k, const char *name, const pml_field *field, pml_error *err)
{
    if (k == NULL)
        return pml_error__set(err, PML_E_SCHEMA, "column %s: there is no aggregate function \"%s\"", field->name, name);
    if (!takes(k->types, &field->type))
        return pml_error__set(err, PML_E_SCHEMA, "column %s: the aggregate function %s wants %s, not %s%s", field->name,
                              name, wanted_type(k->types), pml_type__word(field->type.kind),
                              k->types == FOR_STRING ? " of a limited length" : "");
    if (k->kind == NULL)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "needs aggregator:%s: column %s cannot be merged by this version; leave it out of the "
                              "columns that are read",
                              name, field->name);
    return PML_OK;
}

int pml_aggregator__open(pml_aggregator *out, pml_env *env, const char *name, const pml_field *field, int32_t position,
                         const pml_merge_options *o, pml_error *err)
{
    int rc;
    bool remove;
    const known *k = find(name != NULL ? name : "last_value");
    pml_aggregator a = {.env = env,
                        .name = k != NULL ? k->name : name,
                        .type = &field->type,
                        .column = field->name,
                        .position = position};
    PML_TRY(check_function(k, name, field, err));
    a.kind = k->kind;
    a.mode = k->mode;
    a.retracts = k->retracts;
    if (name != NULL) {
        PML_TRY(pml_merge_options__field_bool(&a.ignore_retract, o, field->name, "ignore-retract", err));
        PML_TRY(pml_merge_options__bool(&remove, o, "aggregation.remove-record-on-delete", err));
        if (remove && a.ignore_retract)
            PML_TRY(pml_error__set(
                err, PML_E_SCHEMA,
                "options aggregation.remove-record-on-delete and fields.%s.ignore-retract exclude each other",
                field->name));
    }
    a.state = pml_env__calloc(env, 1, a.kind->state_size);
    if (a.state == NULL)
        PML_TRY(pml_error__no_memory(err));
    if (a.kind->open != NULL)
        PML_TRY(a.kind->open(&a, o, err));
    *out = a;
    return PML_OK;
out:
    pml_aggregator__close(&a);
    return rc;
}

void pml_aggregator__close(pml_aggregator *a)
{
    if (a->state == NULL)
        return;
    if (a->kind->drop != NULL)
        a->kind->drop(a);
    pml_env__free(a->env, a->state);
    a->state = NULL;
    a->kind = NULL;
}

int pml_aggregator__explain(const pml_aggregator *a, int rc, pml_error *err)
{
    if (rc == PML_E_NOMEM)
        return pml_error__no_memory(err);
    if (rc == PML_E_LIMIT)
        return pml_error__set(err, rc, "column %s: the result of %s, or all results of a batch, are too long",
                              a->column, a->name);
    return rc;
}

int pml_aggregator__check_retract(const pml_aggregator *a, int8_t kind, pml_error *err)
{
    if (a->retracts || a->ignore_retract)
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL,
                          "column %s: the aggregate function %s cannot take back a row of kind %s; option fields.%s.ignore-retract = "
                          "true passes over such rows",
                          a->column, a->name, kind == PML_ROW_DELETE ? "-D" : "-U", a->column);
}

int pml_aggregator__fold(pml_aggregator *a, const pml_fold *f, pml_error *err)
{
    const pml_aggregator_kind *k = a->kind;
    bool done = false;
    if (f->plain && k->plain != NULL) {
        PML_RETURN_IF(k->plain(a, f, &done, err));
        if (done)
            return PML_OK;
    }
    k->begin(a, f);
    for (size_t i = 0; i < f->n; i++) {
        pml_fold_op op = (pml_fold_op)f->steps[i].op;
        pml_row_ref in = f->group->rows[f->steps[i].row].ref;
        if (op == PML_FOLD_RETRACT) {
            if (a->ignore_retract)
                continue;
            PML_RETURN_IF(pml_aggregator__check_retract(a, f->group->rows[f->steps[i].row].kind, err));
        }
        if (pml_item__is_null(pml_fold__item(f, a, in)))
            in = (pml_row_ref){PML_REF_NULL, 0};
        PML_RETURN_IF(k->step(a, op, in, err));
    }
    return pml_aggregator__explain(a, k->end(a, f->out, err), err);
}
