/* SPDX-License-Identifier: Apache-2.0 */
#include "support/avro_kit.h"

#include <stdio.h>
#include <string.h>

#include "columnar/batch.h"
#include "columnar/row_text.h"
#include "storage/local_fs.h"

void avro_kit_open(avro_kit *k)
{
    memset(k, 0, sizeof *k);
    faulty_fs_init(&k->fs, &pml_local_file_system);
    k->t = test_env_open(&k->fs.fs);
    pml_arena__init(&k->arena, k->t->env);
    pml_buf__init(&k->text, k->t->env, (size_t)1 << 30);
    k->format = "avro";
    k->path = test_path(k->t, "data-1.avro");
    k->q = (pml_format_read){.batch_rows = 100, .check_values = true, .own_schema = true};
}

void avro_kit_close(avro_kit *k)
{
    pml_buf__clear(&k->text);
    pml_arena__clear(&k->arena);
    test_env_close(k->t);
    faulty_fs_destroy(&k->fs);
}

void avro_kit_want(avro_kit *k, const char *columns)
{
    pml_error err = PML_ERROR_INIT;
    char *row = pml_env__format(k->t->env, "ROW<%s>", columns);
    assert_non_null(row);
    must_ok(pml_type__parse(&k->want, &k->arena, row, strlen(row), NULL, &err), &err);
    pml_env__free(k->t->env, row);
    k->q.fields = k->want.children;
    k->q.n_fields = k->want.n_children;
}

void avro_kit_put(avro_kit *k, const void *data, size_t len)
{
    FILE *f = fopen(k->path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

void avro_kit_file(avro_kit *k, const char *codec, const char *schema, const void *record, size_t len, int repeat)
{
    pml_error err = PML_ERROR_INIT;
    pml_avro_writer *w;
    uint8_t *data;
    size_t n;
    must_ok(pml_avro_writer__new(&w, k->t->env, schema, codec, 1, &err), &err);
    for (int i = 0; i < repeat; i++) {
        must_ok(pml_buf__append(pml_avro_writer__record(w), record, len), NULL);
        must_ok(pml_avro_writer__end_record(w, &err), &err);
    }
    must_ok(pml_avro_writer__finish(w, &data, &n, &err), &err);
    pml_avro_writer__free(w);
    avro_kit_put(k, data, n);
    pml_env__free(k->t->env, data);
}

static int avro_kit_drain(avro_kit *k, struct ArrowArrayStream *stream, pml_error *err)
{
    int rc = PML_OK;
    while (rc == PML_OK) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0) {
            assert_true(pml_stream__last_error(stream, err));
            return err->code;
        }
        if (batch.release == NULL)
            return PML_OK;
        assert_true(batch.length > 0 && batch.length <= k->q.batch_rows);
        rc = pml_batch__check(&batch, k->q.fields, k->q.n_fields, PML_CHECK_BASIC, err);
        for (int64_t i = 0; rc == PML_OK && i < batch.length; i++) {
            (void)pml_row_text__append(&k->text, &k->want, &batch, i);
            (void)pml_buf__append_str(&k->text, "\n");
        }
        k->rows += batch.length;
        k->batches++;
        batch.release(&batch);
    }
    return rc;
}

int avro_kit_read(avro_kit *k, pml_error *err)
{
    struct ArrowArrayStream stream;
    k->rows = k->batches = 0;
    pml_buf__reset(&k->text);
    int rc = pml_format__open(&stream, k->t->env, k->format, k->path, &k->q, err);
    if (rc != PML_OK)
        return rc;
    rc = avro_kit_drain(k, &stream, err);
    stream.release(&stream);
    return rc;
}

void avro_kit_must_read(avro_kit *k, const char *lines)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(avro_kit_read(k, &err), &err);
    must_ok(pml_buf__append(&k->text, "", 1), NULL);
    assert_string_equal((const char *)k->text.data, lines);
}

void avro_kit_must_fail(avro_kit *k, int code, const char *words)
{
    pml_error err = PML_ERROR_INIT;
    must_fail_with(code, avro_kit_read(k, &err), &err);
    if (strstr(err.message, words) == NULL || strstr(err.message, "data-1.") == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    assert_int_equal(err.place, PML_PLACE_DATA_FILE);
}
