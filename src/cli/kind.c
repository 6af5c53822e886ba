/* The kinds of values: descriptions, words to choose from, readers. */
#include "cli/options.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/time_text.h"
#include "http/http.h"

#include <pawl/cron.h>
#include <pawl/flow.h>
#include <pawl/pawl.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <strings.h>
#include <time.h>

#define X(number, name, text, ...) text,
static const char *const backoff_choices[] = { PAWL_BACKOFFS(X) NULL };
static const char *const conflict_choices[] = { PAWL_CONFLICTS(X) NULL };
static const char *const flow_state_choices[] = { PAWL_FLOW_STATES(X) NULL };
static const char *const vocabulary_choices[] = { PAWL_VOCABULARIES(X) NULL };
static const char *const state_choices[] = { PAWL_STATES(X) NULL };
static const char *const dialect_choices[] = { PAWL_DIALECTS(X) NULL };
static const char *const gap_choices[] = { PAWL_GAPS(X) NULL };
static const char *const overlap_choices[] = { PAWL_OVERLAPS(X) NULL };
static const char *const misfire_choices[] = { PAWL_MISFIRES(X) NULL };
static const char *const schedule_state_choices[] = { PAWL_SCHEDULE_STATES(X) NULL };
#undef X
static const char *const durability_choices[] = { "full", "relaxed", NULL };
#define X(number, name, text) text,
static const char *const log_level_choices[] = { PAWL__LOG_LEVELS(X) NULL };
#undef X
static const char *const log_format_choices[] = { "auto", "text", "json", NULL };
#define X(name, text, ...) text,
static const char *const scope_choices[] = { PAWL__SCOPES(X) NULL };
#undef X
static const char *const unique_choices[] = { "type", "queue", "args", "meta", NULL };

const char *pawl__cli_kind_form(enum pawl__cli_kind kind)
{
#define X(name, form) [PAWL__CLI_KIND_##name] = form,
    static const char *const forms[PAWL__CLI_KIND_END] = { PAWL__CLI_KINDS(X) };
#undef X
    return forms[kind];
}

/* ---- readers: false if the text is no such value ---- */

typedef bool read_fn(const char *text, int64_t now_ms, union pawl__cli_value *out);

static bool read_flag(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    static const char *const yes[] = { "true", "yes", "on", "1", NULL };
    static const char *const no[] = { "false", "no", "off", "0", "", NULL };
    for (size_t i = 0; yes[i]; i++) {
        if (strcasecmp(text, yes[i]) == 0) return out->flag = true;
    }
    for (size_t i = 0; no[i]; i++) {
        if (strcasecmp(text, no[i]) == 0) return true; // out->flag is false
    }
    return false;
}

bool pawl__cli_read_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*digits)) return false;
    char *end;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    if (errno || *end || value < min || value > max) return false;
    *out = value;
    return true;
}

static bool read_priority(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return pawl__cli_read_int(text, PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX, &out->number);
}

static bool read_count(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return pawl__cli_read_int(text, 1, INT32_MAX, &out->number);
}

static bool read_bytes(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    static const char *const units[] = { "", "KiB", "MiB", "GiB" };
    char digits[16];
    size_t len = strspn(text, "0123456789");
    int64_t number;
    if (!len || len >= sizeof digits) return false;
    snprintf(digits, sizeof digits, "%.*s", (int)len, text);
    if (!pawl__cli_read_int(digits, 1, INT64_MAX >> 30, &number)) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(text + len, units[i]) != 0) continue;
        out->number = number << (10 * i);
        return true;
    }
    return false;
}

/* Uses the JSON reader: strtod depends on the locale, and accepts hexadecimals and "nan". */
static bool read_factor(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    bool ok = !pawl__json_parse((struct pawl_span){ text, strlen(text) }, 1, &arena, &json, NULL) &&
              pawl__json_double(&json, 0, &out->real) && out->real >= 1;
    pawl__arena_release(&arena);
    return ok;
}

/* "5", "5..10", "5..", "..10" */
static bool read_range(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    int64_t low = PAWL_PRIORITY_MIN, high = PAWL_PRIORITY_MAX;
    const char *dots = strstr(text, "..");
    if (!dots) {
        if (!pawl__cli_read_int(text, PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX, &low)) return false;
        high = low;
    } else {
        char first[8];
        size_t len = (size_t)(dots - text);
        if (len >= sizeof(first)) return false;
        memcpy(first, text, len);
        first[len] = '\0';
        if (len && !pawl__cli_read_int(first, PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX, &low)) {
            return false;
        }
        if (dots[2] && !pawl__cli_read_int(dots + 2, PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX, &high)) {
            return false;
        }
    }
    out->range[0] = (int32_t)low;
    out->range[1] = (int32_t)high;
    return low <= high;
}

static bool read_duration(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return !pawl__duration_parse(text, &out->number);
}

static bool read_period(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return !pawl__duration_parse(text, &out->number) && out->number > 0;
}

static bool read_age(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    if (strcasecmp(text, "never") != 0) return !pawl__duration_parse(text, &out->number);
    out->number = -1;
    return true;
}

/* "2030-01-31 09:00", "2030-01-31T09:00:00", "2030-01-31", in local time. A time that is skipped is
 * refused; of one that occurs twice it is the first. */
static bool read_local(const char *text, int64_t *out_ms)
{
    struct tm tm = { .tm_isdst = -1 };
    const char *rest = strptime(text, "%Y-%m-%d", &tm);
    if (!rest) return false;
    if (*rest == ' ' || *rest == 'T') {
        const char *clock = rest + 1;
        rest = strptime(clock, "%H:%M:%S", &tm);
        if (!rest) rest = strptime(clock, "%H:%M", &tm);
    }
    if (!rest || *rest) return false;
    const struct tm given = tm;
    time_t at = mktime(&tm);
    if (tm.tm_hour != given.tm_hour || tm.tm_min != given.tm_min || tm.tm_mday != given.tm_mday) {
        return false;
    }
    *out_ms = (int64_t)at * 1000;
    return true;
}

static bool read_instant(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return !pawl__instant_parse(text, &out->number) || read_local(text, &out->number);
}

static bool read_later(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    if (!read_duration(text, now_ms, out)) return read_instant(text, now_ms, out);
    out->number = now_ms + out->number;
    return true;
}

static bool read_earlier(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    if (!read_duration(text, now_ms, out)) return read_instant(text, now_ms, out);
    out->number = now_ms - out->number;
    return true;
}

static bool read_uuid(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return !pawl_job_id_parse(text, &out->id);
}

static bool check_text(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return *text != '\0';
}

static bool check_pair(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    const char *equals = strchr(text, '=');
    return equals && equals != text;
}

static bool check_meta(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    return text[strspn(text, " \t\r\n")] == '{' || check_pair(text, now_ms, out);
}

static bool check_command(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    const char *equals = strchr(text, '=');
    return check_pair(text, now_ms, out) && equals[1 + strspn(equals + 1, " \t\n")];
}

static bool check_server(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    size_t len = strncmp(text, "http://", 7) == 0 ? 7 : strncmp(text, "https://", 8) == 0 ? 8 : 0;
    return len && text[len];
}

static bool check_queue_limit(const char *text, int64_t now_ms, union pawl__cli_value *out)
{
    int64_t most;
    size_t len = strcspn(text, "=");
    return len && (!text[len] || pawl__cli_read_int(text + len + 1, 1, INT32_MAX, &most));
}

/* ---- the table ---- */

/* A kind without a reader is one of the words or, if it is a list, several of them. A list without
 * words is of any texts. */
static const struct {
    read_fn *read;
    const char *const *choices;
    bool is_list;
} kinds[PAWL__CLI_KIND_END] = {
    [PAWL__CLI_KIND_FLAG] = { read_flag },
    [PAWL__CLI_KIND_TEXT] = { check_text },
    [PAWL__CLI_KIND_QUEUE] = { check_text },
    [PAWL__CLI_KIND_TYPE] = { check_text },
    [PAWL__CLI_KIND_STORE] = { check_text },
    [PAWL__CLI_KIND_WAKE] = { check_text },
    [PAWL__CLI_KIND_SERVER] = { check_server },
    [PAWL__CLI_KIND_FILE] = { check_text },
    [PAWL__CLI_KIND_UUID] = { read_uuid },
    [PAWL__CLI_KIND_PRIORITY] = { read_priority },
    [PAWL__CLI_KIND_RANGE] = { read_range },
    [PAWL__CLI_KIND_COUNT] = { read_count },
    [PAWL__CLI_KIND_FACTOR] = { read_factor },
    [PAWL__CLI_KIND_BYTES] = { read_bytes },
    [PAWL__CLI_KIND_DURATION] = { read_duration },
    [PAWL__CLI_KIND_PERIOD] = { read_period },
    [PAWL__CLI_KIND_AGE] = { read_age },
    [PAWL__CLI_KIND_INSTANT] = { read_instant },
    [PAWL__CLI_KIND_LATER] = { read_later },
    [PAWL__CLI_KIND_EXPIRY] = { read_later },
    [PAWL__CLI_KIND_EARLIER] = { read_earlier },
    [PAWL__CLI_KIND_QUEUE_LIMIT] = { check_queue_limit },
    [PAWL__CLI_KIND_COMMAND] = { check_command },
    [PAWL__CLI_KIND_PAIR] = { check_pair },
    [PAWL__CLI_KIND_META] = { check_meta },
    [PAWL__CLI_KIND_NAMES] = { NULL, NULL, true },
    [PAWL__CLI_KIND_STATES] = { check_text, state_choices, true }, // depends on the vocabulary
    [PAWL__CLI_KIND_UNIQUE] = { NULL, unique_choices, true },
    [PAWL__CLI_KIND_SCOPES] = { NULL, scope_choices, true },
    [PAWL__CLI_KIND_LOG_LEVEL] = { NULL, log_level_choices },
    [PAWL__CLI_KIND_LOG_FORMAT] = { NULL, log_format_choices },
    [PAWL__CLI_KIND_DURABILITY] = { NULL, durability_choices },
    [PAWL__CLI_KIND_VOCABULARY] = { NULL, vocabulary_choices },
    [PAWL__CLI_KIND_BACKOFF] = { NULL, backoff_choices },
    [PAWL__CLI_KIND_CONFLICT] = { NULL, conflict_choices },
    [PAWL__CLI_KIND_FLOW_STATE] = { NULL, flow_state_choices },
    [PAWL__CLI_KIND_DIALECT] = { NULL, dialect_choices },
    [PAWL__CLI_KIND_GAP] = { NULL, gap_choices },
    [PAWL__CLI_KIND_OVERLAP] = { NULL, overlap_choices },
    [PAWL__CLI_KIND_MISFIRE] = { NULL, misfire_choices },
    [PAWL__CLI_KIND_SCHEDULE_STATES] = { NULL, schedule_state_choices, true },
};

const char *const *pawl__cli_kind_choices(enum pawl__cli_kind kind)
{
    return kinds[kind].choices;
}

bool pawl__cli_kind_is_list(enum pawl__cli_kind kind)
{
    return kinds[kind].is_list;
}

/* The number of the word; -1: it is none of them. */
static int find_word(const char *const *choices, const char *text, size_t len)
{
    for (int i = 0; choices[i]; i++) {
        if (strlen(choices[i]) == len && strncasecmp(choices[i], text, len) == 0) return i;
    }
    return -1;
}

static bool read_list(const char *const *choices, const char *text, union pawl__cli_value *out)
{
    for (;;) {
        size_t len = strcspn(text, ",");
        int word = choices ? find_word(choices, text, len) : 0;
        if (len == 0 || word < 0) return false;
        out->number |= INT64_C(1) << word;
        text += len;
        if (!*text++) return true;
    }
}

bool pawl__cli_kind_read(enum pawl__cli_kind kind, const char *text, int64_t now_ms,
                         union pawl__cli_value *out)
{
    memset(out, 0, sizeof *out);
    if (kinds[kind].read) return kinds[kind].read(text, now_ms, out);
    if (kinds[kind].is_list) return read_list(kinds[kind].choices, text, out);
    out->number = find_word(kinds[kind].choices, text, strlen(text));
    return out->number >= 0;
}

bool pawl__cli_kind_check(enum pawl__cli_kind kind, const char *text)
{
    union pawl__cli_value ignored;
    return pawl__cli_kind_read(kind, text, 0, &ignored);
}
