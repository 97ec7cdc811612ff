/* SPDX-License-Identifier: Apache-2.0 */
/* What one prepare of a writer made. */
#include "table/writer.h"

size_t pml_messages_count(const pml_messages *m)
{
    return m->n;
}

int64_t pml_messages_rows(const pml_messages *m)
{
    int64_t rows = 0;
    for (size_t i = 0; i < m->n; i++)
        rows += m->v[i]->rows;
    return rows;
}

int64_t pml_messages_files(const pml_messages *m)
{
    int64_t files = 0;
    for (size_t i = 0; i < m->n; i++)
        files += (int64_t)m->v[i]->n;
    return files;
}

void pml_messages_free(pml_messages *m)
{
    if (m == NULL)
        return;
    pml_env *env = m->env;
    pml_table *t = m->table;
    for (size_t i = 0; i < m->n; i++) {
        pml_new_files__clear(m->v[i]);
        pml_env__free(env, m->v[i]);
    }
    pml_env__free(env, m->v);
    pml_env__free(env, m);
    pml_table_release(t);
}

