/* SPDX-License-Identifier: Apache-2.0 */
#include "format/avro_compiler.h"

#include <assert.h>

int pml_avro_compiler__corrupt(avro_compiler *c, const char *what, const char *name)
{
    return pml_error__at(c->err, PML_E_CORRUPT, PML_PLACE_FILE, c->file, "the Avro schema of %s is not valid: %s%s%s",
                         c->file, what, name == NULL ? "" : " ", name == NULL ? "" : name);
}

/* ---- named types ---- */

void pml_avro_names__split(avro_named *out, const char *name, const char *space, size_t space_len)
{
    const char *dot = strrchr(name, '.');
    out->name = dot == NULL ? name : dot + 1;
    out->name_len = strlen(out->name);
    out->space = dot == NULL ? space : name;
    out->space_len = dot == NULL ? space_len : (size_t)(dot - name);
}

bool pml_avro_names__equal(const avro_named *a, const avro_named *b)
{
    return pml_bytes_equal((pml_bytes){(const uint8_t *)a->name, a->name_len},
                           (pml_bytes){(const uint8_t *)b->name, b->name_len}) &&
           pml_bytes_equal((pml_bytes){(const uint8_t *)a->space, a->space_len},
                           (pml_bytes){(const uint8_t *)b->space, b->space_len});
}

const avro_named *pml_avro_names__find(const avro_compiler *c, const avro_named *key)
{
    for (size_t i = 0; i < c->n_names; i++)
        if (pml_avro_names__equal(&c->names[i], key))
            return &c->names[i];
    return NULL;
}

int pml_avro_names__declare(avro_compiler *c, const json_t *type, avro_place *at)
{
    const char *name = json_string_value(json_object_get(type, "name"));
    const char *space = json_string_value(json_object_get(type, "namespace"));
    if (name == NULL || name[0] == '\0')
        return pml_avro_compiler__corrupt(c, "a named type has no name", NULL);
    avro_named key = {.type = type};
    pml_avro_names__split(&key, name, space != NULL ? space : at->space, space != NULL ? strlen(space) : at->space_len);
    const avro_named *old = pml_avro_names__find(c, &key);
    if (old != NULL && old->type != type)
        return pml_avro_compiler__corrupt(c, "a type is declared twice:", name);
    at->space = key.space;
    at->space_len = key.space_len;
    if (old != NULL)
        return PML_OK;
    if (c->n_names == c->limits->names)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s names more than %zu types", c->file, c->limits->names);
    if (c->names == NULL) {
        c->names = pml_env__alloc(c->env, c->limits->names * sizeof *c->names);
        if (c->names == NULL)
            return pml_error__no_memory(c->err);
    }
    c->names[c->n_names++] = key;
    return PML_OK;
}

/* ---- wanted fields ---- */

int pml_avro_wanted__init(avro_wanted *w, const avro_compiler *c, const pml_avro_field *fields, size_t n)
{
    *w = (avro_wanted){.fields = fields, .n = n};
    assert(n <= MAP_FROM || c->found != NULL);
    pml_map__init(&w->by_name, c->env);
    for (size_t i = 0; n > MAP_FROM && i < n; i++)
        if (pml_map__put(&w->by_name, fields[i].name, strlen(fields[i].name), (void *)(uintptr_t)&fields[i], NULL) != PML_OK)
            return pml_error__no_memory(c->err);
    return PML_OK;
}

const pml_avro_field *pml_avro_wanted__find(avro_wanted *w, const char *name)
{
    const pml_avro_field *found = NULL;
    if (w->next < w->n && strcmp(w->fields[w->next].name, name) == 0)
        found = &w->fields[w->next];
    else if (w->n > MAP_FROM)
        found = pml_map__get(&w->by_name, name, strlen(name));
    for (size_t i = 0; found == NULL && w->n <= MAP_FROM && i < w->n; i++)
        if (strcmp(w->fields[i].name, name) == 0)
            found = &w->fields[i];
    if (found != NULL)
        w->next = (size_t)(found - w->fields) + 1;
    return found;
}

bool *pml_avro_wanted__seen(const avro_compiler *c, avro_wanted *w, const pml_avro_field *field)
{
    return c->found != NULL ? &c->found[field->slot] : &w->seen[field - w->fields];
}

void pml_avro_wanted__clear(avro_wanted *w)
{
    pml_map__clear(&w->by_name, NULL);
}
