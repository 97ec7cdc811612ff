/* SPDX-License-Identifier: Apache-2.0 */
#include "table/auto_tag.h"

#include <string.h>
#include <strings.h>

#include "util/number.h"

/* Letters stand for digits of year, month, day, hour and minute; everything else for itself. */
typedef struct tag_form {
    const char *pattern;
    bool daily; /* only what stands before the first blank counts */
} tag_form;

static int form_of(tag_form *out, const pml_table *t, pml_error *err)
{
    const char *period = pml_table_option(t, "tag.creation-period"), *style = pml_table_option(t, "tag.period-formatter");
    bool dashes = style == NULL || strcasecmp(style, "with_dashes") == 0, spaces = style != NULL && strcasecmp(style, "without_dashes") == 0;
    bool known = dashes || spaces || strcasecmp(style, "without_dashes_and_spaces") == 0;
    *out = (tag_form){dashes ? "yyyy-mm-dd" : "yyyymmdd", true};
    if (pml_table_option(t, "tag.creation-period-duration") != NULL)
        *out = (tag_form){"yyyymmddhhMM", false};
    else if (period != NULL && strcasecmp(period, "hourly") == 0)
        *out = (tag_form){dashes ? "yyyy-mm-dd hh" : spaces ? "yyyymmdd hh" : "yyyymmddhh", false};
    else if (period != NULL && strcasecmp(period, "two_hours") == 0)
        *out = (tag_form){"yyyy-mm-dd hh", false};
    else if (period != NULL && strcasecmp(period, "daily") != 0)
        known = false;
    if (known)
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                         "options tag.creation-period and tag.period-formatter of %s are '%.60s' and '%.60s': daily, hourly or two_hours, and "
                         "with_dashes, without_dashes or without_dashes_and_spaces were expected",
                         t->path, period == NULL ? "daily" : period, style == NULL ? "with_dashes" : style);
}

/* Minutes since 1970 of a name of that form; false: it is none. */
static bool time_of(int64_t *minutes, const tag_form *f, const char *name)
{
    static const char letters[] = "ymdhM";
    int parts[5] = {0};
    int64_t year;
    int month, day;
    size_t n = f->daily ? strcspn(name, " ") : strlen(name);
    if (n != strlen(f->pattern))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *letter = strchr(letters, f->pattern[i]);
        if (letter == NULL ? name[i] != f->pattern[i] : name[i] < '0' || name[i] > '9')
            return false;
        if (letter != NULL)
            parts[letter - letters] = parts[letter - letters] * 10 + (name[i] - '0');
    }
    if (parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 31 || parts[3] > 23 || parts[4] > 59)
        return false;
    int64_t days = pml_number__days_from_civil(parts[0], parts[1], parts[2]);
    pml_number__civil_from_days(days, &year, &month, &day);
    *minutes = (days * 24 + parts[3]) * 60 + parts[4];
    return day == parts[2];
}

typedef struct tag_search {
    pml_arena *arena;
    tag_form form;
    int64_t before, best;
    const char *name;
    int rc;
} tag_search;

static int note_tag(void *arg, const char *name, uint32_t kind)
{
    tag_search *s = arg;
    int64_t time;
    if (kind == PML_FILE_DIRECTORY || strncmp(name, "tag-", 4) != 0 || !time_of(&time, &s->form, name + 4) || time >= s->before)
        return 0;
    if (s->name != NULL && (time < s->best || (time == s->best && strcmp(name + 4, s->name) > 0)))
        return 0;
    s->best = time;
    s->name = pml_arena__strdup(s->arena, name + 4);
    s->rc = s->name == NULL ? PML_E_NOMEM : PML_OK;
    return s->rc != PML_OK;
}

int pml_auto_tag__before(const char **out, pml_arena *arena, pml_table *t, const char *name, pml_error *err)
{
    tag_search s = {.arena = arena};
    *out = NULL;
    PML_RETURN_IF(form_of(&s.form, t, err));
    if (!time_of(&s.before, &s.form, name))
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                             "option incremental-to-auto-tag of %s is '%.200s', which is not the name of a tag made on its own (like %s)", t->path,
                             name, s.form.pattern);
    char *dir = pml_path__join(t->env, t->branch_root, "tag");
    if (dir == NULL)
        return pml_error__no_memory(err);
    int rc = t->env->fs.list(t->env->fs.ctx, dir, note_tag, &s, err);
    pml_env__free(t->env, dir);
    if (s.rc != PML_OK)
        return pml_error__no_memory(err);
    *out = s.name;
    if (rc == PML_E_NOT_FOUND)
        pml_error__clear(err);
    return rc == PML_E_NOT_FOUND ? PML_OK : rc;
}
