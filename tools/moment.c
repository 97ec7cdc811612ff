/* SPDX-License-Identifier: Apache-2.0 */
#include "moment.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Days since 1970-01-01 of a date of the Gregorian calendar: years begin in March, so that the leap day comes last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year, century = y / 100;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return 365 * y + y / 4 - century + century / 4 + in_year - 719468;
}

static bool is_date(int year, int month, int day)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= lengths[month - 1] + (month == 2 && leap);
}

/* "2024-01-31", then optionally 'T' or a blank and "12:00" with ":05" and ".123" or not, then optionally 'Z'. */
static bool parse_time(int64_t *ms, const char *text)
{
    int year, month, day, hour = 0, minute = 0, second = 0, n = 0, more = 0;
    int64_t part = 0, scale = 100;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &n) != 3 || n != 10 || !is_date(year, month, day))
        return false;
    const char *p = text + n;
    if (*p == 'T' || *p == ' ') {
        if (sscanf(p + 1, "%2d:%2d%n", &hour, &minute, &more) != 2 || more != 5)
            return false;
        p += 6;
        if (*p == ':') {
            if (sscanf(p + 1, "%2d%n", &second, &more) != 1 || more != 2)
                return false;
            p += 3;
        }
        for (p += *p == '.' && isdigit((unsigned char)p[1]); isdigit((unsigned char)*p); p++, scale /= 10)
            part += scale * (*p - '0');
    }
    p += *p == 'Z';
    if (*p != '\0' || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || year < 0)
        return false;
    *ms = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60000 + (int64_t)second * 1000 + part;
    return true;
}

static int timestamp_get(moment *out, const args *a)
{
    const char *text = args_value(a, "timestamp");
    out->has_timestamp = text != NULL;
    if (text == NULL || parse_time(&out->timestamp, text))
        return EXIT_OK;
    if (strchr(text, ':') != NULL || strchr(text, 'T') != NULL || strspn(text, "0123456789-") != strlen(text) ||
        strchr(text + 1, '-') != NULL)
        return args_wrong(
            a->command, "--timestamp %s: wanted milliseconds since 1970, or a time as 2024-01-31T12:00:00 (UTC)", text);
    return args_int64(&out->timestamp, a, "timestamp", INT64_MIN, INT64_MAX);
}

int moment_get(moment *out, const args *a)
{
    static const char *const names[] = {"snapshot", "tag", "timestamp", "watermark"};
    const char *first = NULL;
    *out = (moment)MOMENT_LATEST;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!args_has(a, names[i]))
            continue;
        if (first != NULL)
            return args_wrong(a->command, "--%s and --%s: only one of them can say which snapshot is read", first,
                              names[i]);
        first = names[i];
    }
    out->tag = args_value(a, "tag");
    out->has_watermark = args_has(a, "watermark");
    int code = args_int64(&out->snapshot, a, "snapshot", 1, INT64_MAX);
    if (code == EXIT_OK)
        code = args_int64(&out->watermark, a, "watermark", INT64_MIN, INT64_MAX);
    return code == EXIT_OK ? timestamp_get(out, a) : code;
}

int moment_set(pml_scan *scan, const moment *m, pml_error *err)
{
    if (m->tag != NULL)
        return pml_scan_set_tag(scan, m->tag, err);
    if (m->has_timestamp)
        pml_scan_set_timestamp(scan, m->timestamp);
    if (m->has_watermark)
        pml_scan_set_watermark(scan, m->watermark);
    return m->snapshot >= 0 ? pml_scan_set_snapshot(scan, m->snapshot, err) : PML_OK;
}
