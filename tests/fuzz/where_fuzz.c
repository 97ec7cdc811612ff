/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of --where and --filter, over a table with a column of each type. */
#include "fuzz.h"

#include "filter.h"
#include "where.h"

FUZZ_MEMORY(16 * MIB);

static pml_table *table;

static void table_close(void)
{
    pml_table_release(table);
}

static void table_make(void)
{
    static const char json[] =
        "{\"fields\":[{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"b\",\"type\":\"STRING\"},{\"name\":\"c\",\"type\":\"DECIMAL(10,2)\"},"
        "{\"name\":\"d\",\"type\":\"DATE\"},{\"name\":\"e\",\"type\":\"TIMESTAMP(6)\"},{\"name\":\"f\",\"type\":\"BOOLEAN\"},"
        "{\"name\":\"g\",\"type\":\"DOUBLE\"},{\"name\":\"h\",\"type\":\"BYTES\"},{\"name\":\"i\",\"type\":\"TIME\"},"
        "{\"name\":\"j\",\"type\":\"ARRAY<INT>\"},{\"name\":\"k\",\"type\":\"TIMESTAMP(9) WITH LOCAL TIME ZONE\"}],"
        "\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{}}";
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_table_create(&table, fuzz_env()->env, "/t", json, sizeof json - 1, 0, &err), &err);
    (void)atexit(table_close);
}

static void must_be_tree(const where_node *node, int depth)
{
    FUZZ_CHECK(depth < 128, "a tree too deep for the library");
    for (size_t i = 0; i < node->n_children; i++)
        must_be_tree(node->children[i], depth + 1);
    FUZZ_CHECK(node->kind != WHERE_LEAF || node->column != NULL, "a leaf without a column");
}

static void ask_table(const where_node *node)
{
    where_error e = {0};
    pml_error err = PML_ERROR_INIT;
    pml_predicate *p;
    must_be_tree(node, 0);
    int rc = where_predicate(&p, table, NULL, node, &e, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK)
        pml_predicate_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    where_error e = {0};
    if (table == NULL)
        table_make();
    char *text = fuzz_rest_text(&in);
    fuzz_begin();
    where_node *node = where_parse(text, &e);
    FUZZ_CHECK(node != NULL || (e.message[0] != '\0' && e.position <= strlen(text)), "a mistake without a place");
    if (node != NULL)
        ask_table(node);
    where_free(node);
    fuzz_quiet(true);
    node = filter_parse(text);
    fuzz_quiet(false);
    if (node != NULL)
        ask_table(node);
    where_free(node);
    fuzz_end();
    free(text);
    return 0;
}
