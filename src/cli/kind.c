/* What the values of options look like: descriptions, choices, checks, readers. */
#include "cli/options.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/time_text.h"
#include "http/http.h"

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
static const char *const vocabulary_choices[] = { PAWL_VOCABULARIES(X) NULL };
static const char *const state_choices[] = { PAWL_STATES(X) NULL };
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

const char *const *pawl__cli_kind_choices(enum pawl__cli_kind kind)
{
    static const char *const *const choices[PAWL__CLI_KIND_END] = {
        [PAWL__CLI_KIND_BACKOFF] = backoff_choices,
        [PAWL__CLI_KIND_CONFLICT] = conflict_choices,
        [PAWL__CLI_KIND_VOCABULARY] = vocabulary_choices,
        [PAWL__CLI_KIND_STATES] = state_choices,
        [PAWL__CLI_KIND_DURABILITY] = durability_choices,
        [PAWL__CLI_KIND_UNIQUE] = unique_choices,
        [PAWL__CLI_KIND_SCOPES] = scope_choices,
        [PAWL__CLI_KIND_LOG_LEVEL] = log_level_choices,
        [PAWL__CLI_KIND_LOG_FORMAT] = log_format_choices,
    };
    return choices[kind];
}

bool pawl__cli_kind_is_list(enum pawl__cli_kind kind)
{
    return kind == PAWL__CLI_KIND_NAMES || kind == PAWL__CLI_KIND_STATES ||
           kind == PAWL__CLI_KIND_UNIQUE || kind == PAWL__CLI_KIND_SCOPES;
}

bool pawl__cli_read_flag(const char *text, bool *out)
{
    static const char *const yes[] = { "true", "yes", "on", "1", NULL };
    static const char *const no[] = { "false", "no", "off", "0", "", NULL };
    for (size_t i = 0; yes[i]; i++) {
        if (strcasecmp(text, yes[i]) == 0) return *out = true;
    }
    for (size_t i = 0; no[i]; i++) {
        if (strcasecmp(text, no[i]) == 0) {
            *out = false;
            return true;
        }
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

bool pawl__cli_read_bytes(const char *text, int64_t *out)
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
        *out = number << (10 * i);
        return true;
    }
    return false;
}

/* Through the JSON reader: strtod would follow the locale, and takes hexadecimals and "nan". */
bool pawl__cli_read_factor(const char *text, double *out)
{
    struct pawl__arena arena = { 0 };
    struct pawl__json json;
    bool ok = !pawl__json_parse((struct pawl_span){ text, strlen(text) }, 1, &arena, &json, NULL) &&
              pawl__json_double(&json, 0, out) && *out >= 1;
    pawl__arena_release(&arena);
    return ok;
}

/* "5", "5..10", "5..", "..10" */
bool pawl__cli_read_range(const char *text, int32_t *min, int32_t *max)
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
    *min = (int32_t)low;
    *max = (int32_t)high;
    return low <= high;
}

bool pawl__cli_read_age(const char *text, int64_t *out_ms)
{
    if (strcasecmp(text, "never") != 0) return !pawl__duration_parse(text, out_ms);
    *out_ms = -1;
    return true;
}

/* "2030-01-31 09:00", "2030-01-31T09:00:00", "2030-01-31": as the clock on the wall shows it. One
 * that the clock skips is refused; of one that it shows twice it is the first. */
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
    const struct tm said = tm;
    time_t at = mktime(&tm);
    if (tm.tm_hour != said.tm_hour || tm.tm_min != said.tm_min || tm.tm_mday != said.tm_mday) {
        return false;
    }
    *out_ms = (int64_t)at * 1000;
    return true;
}

bool pawl__cli_read_instant(const char *text, int64_t *out_ms)
{
    return !pawl__instant_parse(text, out_ms) || read_local(text, out_ms);
}

bool pawl__cli_read_when(const char *text, int64_t now_ms, int sign, int64_t *out_ms)
{
    int64_t ms;
    if (!pawl__duration_parse(text, &ms)) {
        *out_ms = now_ms + sign * ms;
        return true;
    }
    return pawl__cli_read_instant(text, out_ms);
}

int pawl__cli_read_choice(const char *const *choices, const char *text, size_t len)
{
    for (int i = 0; choices[i]; i++) {
        if (strlen(choices[i]) == len && strncasecmp(choices[i], text, len) == 0) return i;
    }
    return -1;
}

/* Every part of "a,b,c" must be one of the choices, or just something when there are none. */
static bool check_list(const char *const *choices, const char *text)
{
    for (;;) {
        size_t len = strcspn(text, ",");
        if (len == 0 || (choices && pawl__cli_read_choice(choices, text, len) < 0)) return false;
        text += len;
        if (!*text++) return true;
    }
}

static bool check_pair(const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && equals != text;
}

static bool check_command(const char *text)
{
    const char *equals = strchr(text, '=');
    return check_pair(text) && equals[1 + strspn(equals + 1, " \t\n")];
}

static bool check_server(const char *text)
{
    size_t len = strncmp(text, "http://", 7) == 0 ? 7 : strncmp(text, "https://", 8) == 0 ? 8 : 0;
    return len && text[len];
}

static bool check_queue_limit(const char *text)
{
    int64_t most;
    size_t len = strcspn(text, "=");
    return len && (!text[len] || pawl__cli_read_int(text + len + 1, 1, INT32_MAX, &most));
}

bool pawl__cli_kind_check(enum pawl__cli_kind kind, const char *text)
{
    const char *const *choices = pawl__cli_kind_choices(kind);
    int64_t number;
    double real;
    int32_t low, high;
    bool flag;
    struct pawl_job_id id;
    switch (kind) {
    case PAWL__CLI_KIND_FLAG:
        return pawl__cli_read_flag(text, &flag);
    case PAWL__CLI_KIND_SERVER:
        return check_server(text);
    case PAWL__CLI_KIND_UUID:
        return !pawl_job_id_parse(text, &id);
    case PAWL__CLI_KIND_PRIORITY:
        return pawl__cli_read_int(text, PAWL_PRIORITY_MIN, PAWL_PRIORITY_MAX, &number);
    case PAWL__CLI_KIND_RANGE:
        return pawl__cli_read_range(text, &low, &high);
    case PAWL__CLI_KIND_COUNT:
        return pawl__cli_read_int(text, 1, INT32_MAX, &number);
    case PAWL__CLI_KIND_BYTES:
        return pawl__cli_read_bytes(text, &number);
    case PAWL__CLI_KIND_FACTOR:
        return pawl__cli_read_factor(text, &real);
    case PAWL__CLI_KIND_DURATION:
        return !pawl__duration_parse(text, &number);
    case PAWL__CLI_KIND_PERIOD:
        return !pawl__duration_parse(text, &number) && number > 0;
    case PAWL__CLI_KIND_AGE:
        return pawl__cli_read_age(text, &number);
    case PAWL__CLI_KIND_INSTANT:
        return pawl__cli_read_instant(text, &number);
    case PAWL__CLI_KIND_LATER:
    case PAWL__CLI_KIND_EXPIRY:
    case PAWL__CLI_KIND_EARLIER:
        return pawl__cli_read_when(text, 0, 1, &number);
    case PAWL__CLI_KIND_QUEUE_LIMIT:
        return check_queue_limit(text);
    case PAWL__CLI_KIND_COMMAND:
        return check_command(text);
    case PAWL__CLI_KIND_PAIR:
        return check_pair(text);
    case PAWL__CLI_KIND_META:
        return text[strspn(text, " \t\r\n")] == '{' || check_pair(text);
    case PAWL__CLI_KIND_NAMES:
        return check_list(NULL, text);
    case PAWL__CLI_KIND_STATES: // their names depend on the vocabulary
        return *text != '\0';
    default:
        if (!choices) return *text != '\0';
        if (pawl__cli_kind_is_list(kind)) return check_list(choices, text);
        return pawl__cli_read_choice(choices, text, strlen(text)) >= 0;
    }
}
