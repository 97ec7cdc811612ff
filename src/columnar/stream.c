/* SPDX-License-Identifier: Apache-2.0 */
/* ArrowArrayStream over a callback. */
#include "columnar/batch.h"

#include <errno.h>

typedef struct stream_state {
    pml_env *env;
    struct ArrowSchema schema;
    int (*next)(void *owner, struct ArrowArray *out, pml_error *err);
    void (*drop)(void *owner);
    void *owner;
    bool done;  /* after the end `next` is not called again, */
    int failed; /* nor after a failure: a source that stopped in the middle must not go on behind the gap */
    pml_error last, failure;
} stream_state;

/* The callers of a stream only know errno values; the text says the rest. */
static int stream_errno(int rc)
{
    switch (rc) {
    case PML_OK: return 0;
    case PML_E_NOMEM:
    case PML_E_BUDGET: return ENOMEM;
    case PML_E_INVAL:
    case PML_E_UNSUPPORTED:
    case PML_E_LIMIT:
    case PML_E_STATE:
    case PML_E_SCHEMA: return EINVAL;
    default: return EIO;
    }
}

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    stream_state *s = stream->private_data;
    pml_error__clear(&s->last);
    return stream_errno(pml_schema__copy(out, s->env, &s->schema, &s->last));
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    stream_state *s = stream->private_data;
    *out = (struct ArrowArray){0};
    if (s->failed != PML_OK) {
        s->last = s->failure;
        return stream_errno(s->failed);
    }
    pml_error__clear(&s->last);
    if (s->done)
        return 0;
    int rc = s->next(s->owner, out, &s->last);
    if (rc != PML_OK && out->release != NULL)
        out->release(out);
    if (rc != PML_OK && s->last.code == PML_OK)
        (void)pml_error__set(&s->last, rc, "the stream failed without a message");
    s->failed = rc;
    if (rc != PML_OK)
        s->failure = s->last;
    s->done = rc == PML_OK && out->release == NULL;
    return stream_errno(rc);
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream)
{
    stream_state *s = stream->private_data;
    return s->last.code == PML_OK ? NULL : s->last.message;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    stream_state *s = stream->private_data;
    pml_env *env = s->env;
    if (s->drop != NULL)
        s->drop(s->owner);
    pml_schema__release(&s->schema);
    pml_env__free(env, s);
    stream->release = NULL;
    pml_env_release(env);
}

int pml_stream__new(struct ArrowArrayStream *out, pml_env *env, struct ArrowSchema *schema,
                    int (*next)(void *owner, struct ArrowArray *out, pml_error *err), void (*drop)(void *owner),
                    void *owner, pml_error *err)
{
    *out = (struct ArrowArrayStream){0};
    stream_state *s = pml_env__calloc(env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    *s = (stream_state){
        .env = env, .schema = *schema, .next = next, .drop = drop, .owner = owner, .last = PML_ERROR_INIT};
    schema->release = NULL;
    *out = (struct ArrowArrayStream){.get_schema = stream_get_schema,
                                     .get_next = stream_get_next,
                                     .get_last_error = stream_get_last_error,
                                     .release = stream_release,
                                     .private_data = s};
    return PML_OK;
}

bool pml_stream__last_error(struct ArrowArrayStream *stream, pml_error *err)
{
    if (stream->get_next != stream_get_next || stream->release == NULL)
        return false;
    const stream_state *s = stream->private_data;
    if (err == NULL)
        return true;
    *err = s->last;
    return true;
}

typedef struct single_array {
    pml_env *env;
    struct ArrowArray array;
} single_array;

static int single_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    single_array *one = owner;
    (void)err;
    *out = one->array;
    one->array.release = NULL;
    return PML_OK;
}

static void single_drop(void *owner)
{
    single_array *one = owner;
    pml_array__release(&one->array);
    pml_env__free(one->env, one);
}

int pml_stream__from_array(struct ArrowArrayStream *out, pml_env *env, struct ArrowSchema *schema,
                           struct ArrowArray *array, pml_error *err)
{
    *out = (struct ArrowArrayStream){0};
    single_array *one = pml_env__calloc(env, 1, sizeof *one);
    if (one == NULL)
        return pml_error__no_memory(err);
    one->env = env;
    int rc = pml_stream__new(out, env, schema, single_next, single_drop, one, err);
    if (rc != PML_OK) {
        pml_env__free(env, one);
        return rc;
    }
    one->array = *array;
    array->release = NULL;
    return PML_OK;
}
