/* SPDX-License-Identifier: Apache-2.0 */
/* Casts among dates, times and timestamps, and between timestamps and whole numbers. Local-zoned ones go by the process's zone. */
#include "columnar/cast_rule.h"

#include "util/zone.h"

enum { MS_PER_SECOND = 1000, MS_PER_DAY = 86400000, NANOS_PER_MS = 1000000 };

static bool is_zoned(const pml_type *t)
{
    return t->kind == PML_TYPE_TIMESTAMP_LTZ;
}

/* Java: DateTimeUtils.truncate of 1.4.2. */
static void truncate(pml_value *v, int32_t precision)
{
    int32_t step = 1;
    for (int32_t p = precision > 3 ? precision : 9; p < 9; p++)
        step *= 10;
    if (precision > 3) {
        v->ts.nanos -= v->ts.nanos % step;
        return;
    }
    v->ts.nanos = 0;
    for (int32_t p = precision; p < 3; p++)
        step *= 10;
    v->ts.ms = v->ts.ms / step * step; /* towards 1970, as Java has it */
}

static int timestamp_to_timestamp(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    (void)text;
    (void)err;
    *out = *v;
    if (is_zoned(c->from) && !is_zoned(c->to))
        out->ts.ms = pml_zone__local_of_instant(v->ts.ms);
    else if (!is_zoned(c->from) && is_zoned(c->to))
        out->ts.ms = pml_zone__instant_of_local(v->ts.ms);
    if (c->to->precision < c->from->precision)
        truncate(out, c->to->precision);
    return PML_OK;
}

/* Without a zone Java 1.4.2 divides: of times before 1970 the day is the next one, and the time of day is negative. */
static int timestamp_to_date_or_time(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    int64_t ms = is_zoned(c->from) ? pml_zone__local_of_instant(v->ts.ms) : v->ts.ms;
    int64_t days = ms / MS_PER_DAY, rest = ms % MS_PER_DAY;
    (void)text;
    (void)err;
    if (is_zoned(c->from) && rest < 0) {
        days--;
        rest += MS_PER_DAY;
    }
    *out = (pml_value){.kind = PML_VALUE_INT, .i = c->to->kind == PML_TYPE_DATE ? (int32_t)days : rest};
    return PML_OK;
}

/* A day begins when it does in the zone, but a time of day is taken for one in Greenwich: that is what Java does. */
static int date_or_time_to_timestamp(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    bool date = c->from->kind == PML_TYPE_DATE;
    int64_t ms = date ? v->i * MS_PER_DAY : v->i;
    (void)text;
    (void)err;
    *out = (pml_value){.kind = PML_VALUE_TIMESTAMP, .ts = {date && is_zoned(c->to) ? pml_zone__instant_of_local(ms) : ms, 0}};
    return PML_OK;
}

/* Seconds, wrapping at 64 bits. To a local-zoned one the wall clock of that instant is what is stored. */
static int integer_to_timestamp(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    int64_t ms = (int64_t)((uint64_t)v->i * MS_PER_SECOND);
    (void)text;
    (void)err;
    *out = (pml_value){.kind = PML_VALUE_TIMESTAMP, .ts = {is_zoned(c->to) ? pml_zone__local_of_instant(ms) : ms, 0}};
    return PML_OK;
}

static int timestamp_to_integer(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    int64_t seconds = v->ts.ms / MS_PER_SECOND;
    (void)text;
    (void)err;
    *out = (pml_value){.kind = PML_VALUE_INT, .i = c->to->kind == PML_TYPE_INT ? (int32_t)seconds : seconds};
    return PML_OK;
}

pml_cast_rule pml_cast_rule__time(const pml_type *from, const pml_type *to)
{
    if (pml_cast__is_timestamp(from)) {
        if (pml_cast__is_timestamp(to))
            return timestamp_to_timestamp;
        if (to->kind == PML_TYPE_INT || to->kind == PML_TYPE_BIGINT)
            return timestamp_to_integer;
        return to->kind == PML_TYPE_DATE || to->kind == PML_TYPE_TIME ? timestamp_to_date_or_time : NULL;
    }
    if (!pml_cast__is_timestamp(to))
        return NULL;
    if (from->kind == PML_TYPE_DATE || from->kind == PML_TYPE_TIME)
        return date_or_time_to_timestamp;
    return from->kind == PML_TYPE_INT || from->kind == PML_TYPE_BIGINT ? integer_to_timestamp : NULL;
}
