/* Expressions as a whole: which dialect it is, the aliases, "@every", and the order in which
 * mistakes are reported. */
#include "schedule/inside.h"

#include "base/check.h"
#include "base/diag.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 7 };

#define EVERY_MS_MIN INT64_C(1000)
#define EVERY_MS_MAX INT64_C(316224000000) /* 3660 days: ten years */

const char *pawl_cron_reason_code(enum pawl_cron_reason reason)
{
    switch (reason) {
#define X(number, name, code, text)                                                                \
    case PAWL_CRON_REASON_##name:                                                                  \
        return code;
        PAWL_CRON_REASONS(X)
#undef X
    default:
        return "none";
    }
}

static const char *reason_text(enum pawl_cron_reason reason)
{
    switch (reason) {
#define X(number, name, code, text)                                                                \
    case PAWL_CRON_REASON_##name:                                                                  \
        return text;
        PAWL_CRON_REASONS(X)
#undef X
    default:
        return "";
    }
}

static bool refuse(struct pawl__cron_fault *fault, enum pawl_cron_reason reason)
{
    *fault = (struct pawl__cron_fault){ .reason = reason };
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool starts_with(struct pawl__cron_text text, const char *prefix)
{
    return text.len >= strlen(prefix) && strncasecmp(text.at, prefix, strlen(prefix)) == 0;
}

static bool is_word(struct pawl__cron_text text, const char *word)
{
    return text.len == strlen(word) && starts_with(text, word);
}

/* ---- the text ---- */

/* Counts characters, not bytes, so that a text with foreign letters is not reported as too long. */
static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++) {
        count += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count;
}

static bool check_text(const char *text, struct pawl__cron_fault *fault)
{
    if (count_characters(text) > PAWL_CRON_BYTES_MAX) {
        return refuse(fault, PAWL_CRON_REASON_TOO_LONG);
    }
    bool blank = true;
    for (const char *c = text; *c; c++) {
        if (*c != '\t' && (*c < ' ' || *c > '~')) {
            return refuse(fault, PAWL_CRON_REASON_BAD_CHARACTER);
        }
        blank = blank && is_blank(*c);
    }
    return !blank || refuse(fault, PAWL_CRON_REASON_EMPTY);
}

/* Splits at spaces and tabs; returns the number of words, of which at most `max` are in `out`. */
static size_t split(const char *text, struct pawl__cron_text *out, size_t max)
{
    size_t count = 0;
    while (*text) {
        size_t len = strcspn(text, " \t");
        if (len > 0 && count < max) out[count] = (struct pawl__cron_text){ text, len };
        count += len > 0;
        text += len + (text[len] != '\0');
    }
    return count;
}

/* ---- "@" ---- */

struct unit {
    const char *name;
    int64_t ms;
};

/* Reads "12" or "1.5" as thousandths; at most 12 digits and 3 decimals. */
static bool read_thousandths(struct pawl__cron_text *text, int64_t *out)
{
    int64_t value = 0;
    int digits = 0, decimals = 0;
    for (; text->len > 0 && isdigit((unsigned char)*text->at); text->at++, text->len--) {
        value = value * 10 + (*text->at - '0');
        if (++digits > 12) return false;
    }
    if (digits == 0) return false;
    if (text->len > 0 && *text->at == '.') {
        text->at++;
        text->len--;
        for (; text->len > 0 && isdigit((unsigned char)*text->at); text->at++, text->len--) {
            value = value * 10 + (*text->at - '0');
            if (++decimals > 3) return false;
        }
        if (decimals == 0) return false;
    }
    for (; decimals < 3; decimals++) {
        value *= 10;
    }
    *out = value;
    return true;
}

/* "1h30m": units from large to small, each at most once. */
static bool read_interval(struct pawl__cron_text text, int64_t *out_ms)
{
    static const struct unit units[] = {
        { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 }
    };
    const size_t unit_count = sizeof units / sizeof *units;
    int64_t sum = 0;
    for (size_t unit = 0; text.len > 0; unit++) {
        int64_t thousandths;
        if (!read_thousandths(&text, &thousandths)) return false;
        size_t len = 0;
        while (len < text.len && isalpha((unsigned char)text.at[len])) {
            len++;
        }
        struct pawl__cron_text name = { text.at, len };
        while (unit < unit_count && !is_word(name, units[unit].name)) {
            unit++;
        }
        if (unit == unit_count) return false;
        if (thousandths / 1000 > EVERY_MS_MAX / units[unit].ms) return false;
        int64_t product = thousandths * units[unit].ms;
        if (product % 1000 != 0) return false; // a fraction of a millisecond
        sum += product / 1000;
        text.at += len;
        text.len -= len;
    }
    *out_ms = sum;
    return sum >= EVERY_MS_MIN && sum <= EVERY_MS_MAX;
}

struct alias {
    const char *name;
    const char *expression;
};

/* Sets `expression` if the words are an alias. */
static bool read_at(const struct pawl__cron_text *words, size_t count, struct pawl__cron *cron,
                    const char **expression, struct pawl__cron_fault *fault)
{
    static const struct alias aliases[] = {
        { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
        { "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" },    { "@midnight", "0 0 * * *" },
        { "@hourly", "0 * * * *" },
    };
    if (starts_with(words[0], "@every")) {
        bool fits = count == 2 && is_word(words[0], "@every");
        if (fits && read_interval(words[1], &cron->every_ms)) return true;
        return refuse(fault, PAWL_CRON_REASON_BAD_INTERVAL);
    }
    if (count == 1 && is_word(words[0], "@reboot")) return refuse(fault, PAWL_CRON_REASON_REBOOT);
    for (size_t i = 0; count == 1 && i < sizeof aliases / sizeof *aliases; i++) {
        if (!is_word(words[0], aliases[i].name)) continue;
        *expression = aliases[i].expression;
        return true;
    }
    return refuse(fault, PAWL_CRON_REASON_BAD_ALIAS);
}

/* ---- fields ---- */

/* The words of an expression by field; those that are left out have no text. */
struct layout {
    struct pawl__cron_text field[PAWL__FIELDS];
    bool quartz;
};

static bool is_question(struct pawl__cron_text text)
{
    return is_word(text, "?");
}

static bool lay_out(const struct pawl__cron_text *words, size_t count, enum pawl_dialect dialect,
                    struct layout *out, struct pawl__cron_fault *fault)
{
    bool cron = count == 5 || count == 6, quartz = count == 6 || count == 7;
    bool wanted = dialect == PAWL_DIALECT_CRON     ? cron
                  : dialect == PAWL_DIALECT_QUARTZ ? quartz
                                                   : cron || quartz;
    if (!wanted) return refuse(fault, PAWL_CRON_REASON_FIELD_COUNT);
    size_t skipped = count == 5; // the second
    *out = (struct layout){ .quartz = dialect == PAWL_DIALECT_QUARTZ || count == 7 };
    for (size_t i = 0; i < count; i++) {
        out->field[i + skipped] = words[i];
    }
    if (dialect != PAWL_DIALECT_CRON && dialect != PAWL_DIALECT_QUARTZ && count == 6) {
        out->quartz = is_question(out->field[PAWL__FIELD_DAY]) !=
                      is_question(out->field[PAWL__FIELD_WEEKDAY]);
    }
    return true;
}

static bool is_free(struct pawl__cron_text text)
{
    return is_word(text, "*") || is_word(text, "*/1") || is_question(text);
}

static bool check_questions(const struct layout *layout, struct pawl__cron_fault *fault)
{
    bool day = is_question(layout->field[PAWL__FIELD_DAY]);
    bool weekday = is_question(layout->field[PAWL__FIELD_WEEKDAY]);
    if (day && weekday) return refuse(fault, PAWL_CRON_REASON_TWO_QUESTIONS);
    if (layout->quartz && !day && !weekday) return refuse(fault, PAWL_CRON_REASON_NEEDS_QUESTION);
    return true;
}

static bool read_fields(const struct layout *layout, struct pawl__cron *cron,
                        struct pawl__cron_fault *fault)
{
    static const enum pawl__cron_field order[] = { PAWL__FIELD_SECOND, PAWL__FIELD_MINUTE,
                                                   PAWL__FIELD_HOUR,   PAWL__FIELD_MONTH,
                                                   PAWL__FIELD_YEAR,   PAWL__FIELD_DAY,
                                                   PAWL__FIELD_WEEKDAY };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct pawl__cron_text text = layout->field[order[i]];
        if (order[i] == PAWL__FIELD_DAY && !check_questions(layout, fault)) return false;
        if (!text.at) text.at = order[i] == PAWL__FIELD_SECOND ? "0" : "*", text.len = 1;
        if (!pawl__cron_read_field(order[i], layout->quartz, text, cron, fault)) return false;
    }
    cron->days_free = is_free(layout->field[PAWL__FIELD_DAY]);
    cron->weekdays_free = is_free(layout->field[PAWL__FIELD_WEEKDAY]);
    cron->names_hour = cron->hours != (UINT32_C(1) << 24) - 1;
    return true;
}

static bool parse(const char *text, enum pawl_dialect dialect, struct pawl__cron *cron,
                  struct pawl__cron_fault *fault)
{
    struct pawl__cron_text words[FIELDS_MAX] = { { 0 } };
    struct layout layout;
    if (!check_text(text, fault)) return false;
    size_t count = split(text, words, FIELDS_MAX);
    assert(count > 0); // that it is not blank was checked
    if (starts_with(words[0], "TZ=") || starts_with(words[0], "CRON_TZ=")) {
        return refuse(fault, PAWL_CRON_REASON_ZONE_INSIDE);
    }
    if (*words[0].at == '@') {
        const char *alias = NULL;
        if (!read_at(words, count, cron, &alias, fault)) return false;
        if (!alias) return true;
        count = split(alias, words, FIELDS_MAX);
        dialect = PAWL_DIALECT_CRON;
    }
    if (!lay_out(words, count, dialect, &layout, fault)) return false;
    if (!read_fields(&layout, cron, fault)) return false;
    if (pawl__cron_next_local(cron, 0) == LOCAL_NEVER) {
        return refuse(fault, PAWL_CRON_REASON_NEVER);
    }
    return true;
}

/* ---- messages ---- */

static enum pawl_err report(const char *text, const struct pawl__cron_fault *fault,
                            struct pawl_diag *diag)
{
    const char *rule = reason_text(fault->reason);
    struct pawl__quoted whole = pawl__quote(text);
    if (!fault->field) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "expression", "expression \"%s\": %s",
                                whole.text, rule);
    }
    char range[32] = "";
    if (fault->reason == PAWL_CRON_REASON_OUT_OF_RANGE) {
        snprintf(range, sizeof range, ", %d to %d", fault->min, fault->max);
    }
    return pawl__fail_field(diag, PAWL_ERR_ARG, "expression",
                            "expression \"%s\": %s \"%.*s\": %s%s", whole.text, fault->field,
                            (int)fault->text.len, fault->text.at, rule, range);
}

enum pawl_err pawl__cron_parse(const char *text, enum pawl_dialect dialect, struct pawl__cron *out,
                               enum pawl_cron_reason *reason, struct pawl_diag *diag)
{
    struct pawl__cron cron = { 0 };
    struct pawl__cron_fault fault;
    if (!parse(text, dialect, &cron, &fault)) {
        if (reason) *reason = fault.reason;
        return report(text, &fault, diag);
    }
    *out = cron;
    return PAWL_OK;
}
