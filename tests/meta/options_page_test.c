/* SPDX-License-Identifier: Apache-2.0 */
/* docs/core-options.md is the option table, word for word. PML_WRITE_PAGES=1 writes it anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/options_table.h"
#include "support/test_env.h"
#include "util/buf.h"

static const char *const kinds[] = {"whole number", "whole number", "size", "duration", "true or false", "text", "word"};

static const char head[] =
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
    "# Every option, and what becomes of it\n"
    "\n"
    "This page is the option table of the library (`src/meta/options_table.c`): every option that Java Paimon 1.4.2 declares, and ours. The first\n"
    "row that fits an option counts; `*` stands for any text. An option that no row fits is kept with the table and has no effect.\n"
    "\n"
    "* **honoured**: reads, and writes if they are concerned, do what it says. **honoured in writes**: reads need not look at it.\n"
    "* **ignored**: it changes no answer; the row says why.\n"
    "* **refused**: any other value than the harmless ones is refused by the name that follows, because it would change what a reader must do.\n"
    "  **refused in writes**: the same, but reads are right without it.\n"
    "* **fixed**: it says what the table is, or where its files lie; it cannot be given for one open or command.\n"
    "\n"
    "What the most used ones mean: [options.md](options.md), [realtime.md](realtime.md).\n"
    "\n"
    "| option | kind | default | what becomes of it |\n"
    "|---|---|---|---|\n";

/* A '|' would end the cell. */
static void put_words(pml_buf *b, const char *words, const char *between)
{
    for (const char *p = words; *p != '\0';) {
        size_t n = strcspn(p, "|");
        (void)pml_buf__append_format(b, "%s`%.*s`", p == words ? "" : between, (int)n, p);
        p += n + (p[n] == '|');
    }
}

static void put_refusal(pml_buf *b, const pml_option_rule *r, const char *verb)
{
    size_t before = strcspn(r->needs, "%"); /* %s stands for the value */
    (void)pml_buf__append_format(b, "%s as `needs %.*s%s`", verb, (int)before, r->needs, r->needs[before] == '\0' ? "" : "<value>");
    if (r->values != NULL && r->values[0] != '\0') {
        (void)pml_buf__append_str(b, ", but for ");
        put_words(b, r->values, ", ");
    }
    (void)pml_buf__append_format(b, ": %s", r->reason);
}

static void put_rule(pml_buf *b, const pml_option_rule *r)
{
    (void)pml_buf__append_format(b, "| `%s` | ", r->key);
    if (r->kind == PML_OPTION_ENUM)
        put_words(b, r->values, " or ");
    else
        (void)pml_buf__append_str(b, kinds[r->kind]);
    if (r->fallback == NULL)
        (void)pml_buf__append_str(b, " | none | ");
    else if (r->fallback[0] == '\0')
        (void)pml_buf__append_str(b, " | empty | ");
    else
        (void)pml_buf__append_format(b, " | `%s` | ", r->fallback[0] == '\n' ? "\\n" : r->fallback);
    switch (r->treatment) {
    case PML_OPTION_HONOURED: (void)pml_buf__append_str(b, "honoured"); break;
    case PML_OPTION_WRITE_ONLY: (void)pml_buf__append_str(b, "honoured in writes"); break;
    case PML_OPTION_IGNORED: (void)pml_buf__append_format(b, "ignored: %s", r->reason); break;
    case PML_OPTION_REFUSED: put_refusal(b, r, "refused"); break;
    case PML_OPTION_REFUSED_WRITE: put_refusal(b, r, "refused in writes"); break;
    }
    (void)pml_buf__append_str(b, r->fixed ? "; fixed |\n" : " |\n");
}

static void page_lists_every_option(void **state)
{
    static const char path[] = PML_TEST_SOURCE "/../docs/core-options.md";
    test_env *t = test_env_open(NULL);
    pml_buf page;
    size_t len = 0;
    (void)state;
    pml_buf__init(&page, t->env, 1024 * 1024);
    (void)pml_buf__append_str(&page, head);
    for (size_t i = 0; i < pml_option_rules_count; i++)
        put_rule(&page, &pml_option_rules[i]);
    assert_int_equal(page.rc, PML_OK);
    if (getenv("PML_WRITE_PAGES") != NULL) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(page.data, 1, page.len, f), page.len);
        assert_int_equal(fclose(f), 0);
    }
    uint8_t *there = test_read_file(path, &len);
    if (len != page.len || memcmp(there, page.data, len) != 0)
        fail_msg("docs/core-options.md is not the option table: PML_WRITE_PAGES=1 test_meta_options_page writes it anew");
    free(there);
    pml_buf__clear(&page);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_lists_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
