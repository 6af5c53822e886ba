/* The values of options, converted. The parser has checked them, so conversion cannot fail. */
#include "cli/cli.h"
#include "base/nearest.h"

#include <assert.h>
#include <pwd.h>
#include <unistd.h>

bool pawl__cli_has(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    return cli->values[id].count > 0;
}

const char *pawl__cli_text(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    const struct pawl__cli_values *values = &cli->values[id];
    return values->count ? values->at[values->count - 1] : pawl__cli_options[id].fallback;
}

union pawl__cli_value pawl__cli_value(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    const char *text = pawl__cli_text(cli, id);
    union pawl__cli_value value = { .number = 0 };
    bool ok = !text || pawl__cli_kind_read(pawl__cli_options[id].kind, text, cli->now_ms, &value);
    assert(ok);
    return value;
}

bool pawl__cli_flag(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    return pawl__cli_value(cli, id).flag;
}

int64_t pawl__cli_int(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    return pawl__cli_value(cli, id).number;
}

int64_t pawl__cli_duration(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    return pawl__cli_value(cli, id).number;
}

static int64_t age(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    int64_t ms = pawl__cli_duration(cli, id);
    return ms ? ms : 1; // 0 would mean the default
}

struct pawl_retention pawl__cli_retention(const struct pawl__cli *cli)
{
    return (struct pawl_retention){ .archive_after_ms = age(cli, PAWL__CLI_OPT_ARCHIVE_AFTER),
                                    .purge_after_ms = age(cli, PAWL__CLI_OPT_PURGE_AFTER) };
}

enum pawl__log_level pawl__cli_log_level(const struct pawl__cli *cli)
{
    return (enum pawl__log_level)pawl__cli_int(cli, PAWL__CLI_OPT_LOG_LEVEL);
}

enum pawl__log_format pawl__cli_log_format(const struct pawl__cli *cli)
{
    enum { AUTO, TEXT };
    int64_t chosen = pawl__cli_int(cli, PAWL__CLI_OPT_LOG_FORMAT);
    bool text = chosen == TEXT || (chosen == AUTO && cli->err_tty);
    return text ? PAWL__LOG_FORMAT_TEXT : PAWL__LOG_FORMAT_JSON;
}

const char *const *pawl__cli_names(struct pawl__cli *cli, const char *text, size_t *count)
{
    struct pawl__cli_values values = { 0 };
    while (text) {
        size_t len = strcspn(text, ",");
        pawl__cli_values_add(cli, &values, pawl__cli_need(pawl__arena_dup(&cli->arena, text, len)));
        text = text[len] ? text + len + 1 : NULL;
    }
    *count = values.count;
    return values.at;
}

static int unknown_state(struct pawl__cli *cli, enum pawl__cli_option_id id, const char *name)
{
    struct pawl__nearest nearest = { .word = name };
    struct pawl__buf known = { 0 };
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        const char *text = pawl_state_name(state, cli->vocabulary);
        pawl__nearest_offer(&nearest, text);
        if (known.at && strstr(known.at, text)) continue; // a name of several states
        pawl__buf_printf(&known, "%s%s", known.len ? ", " : "", text);
    }
    pawl__cli_error("\"--%s\": there is no state \"%s\"", pawl__cli_options[id].name, name);
    if (!pawl__cli_did_you_mean(&nearest, "")) {
        pawl__cli_hint("the states are %s", known.at ? known.at : "");
    }
    pawl__buf_release(&known);
    return PAWL__CLI_EXIT_USAGE;
}

int pawl__cli_states(struct pawl__cli *cli, enum pawl__cli_option_id id, uint32_t *out)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < cli->values[id].count; i++) {
        size_t count;
        const char *const *names = pawl__cli_names(cli, cli->values[id].at[i], &count);
        for (size_t j = 0; j < count; j++) {
            uint32_t named = pawl_state_mask(names[j], cli->vocabulary);
            if (!named) return unknown_state(cli, id, names[j]);
            mask |= named;
        }
    }
    *out = mask;
    return PAWL__CLI_EXIT_OK;
}

/* ---- options as a struct ---- */

static void set_texts(struct pawl__cli *cli, const struct pawl__cli_setter *setter, char *out)
{
    const struct pawl__cli_values *values = &cli->values[setter->option];
    const char *const *at = values->at;
    size_t count = values->count;
    if (pawl__cli_options[setter->option].kind == PAWL__CLI_KIND_NAMES) {
        at = pawl__cli_names(cli, pawl__cli_text(cli, setter->option), &count);
    }
    memcpy(out + setter->offset, &at, sizeof at);
    memcpy(out + setter->count_offset, &count, sizeof count);
}

static int set(struct pawl__cli *cli, const struct pawl__cli_setter *setter, char *out)
{
    enum pawl__cli_option_id id = setter->option;
    union pawl__cli_value value = pawl__cli_value(cli, id);
    void *at = out + setter->offset;
    switch (pawl__cli_options[id].kind) {
    case PAWL__CLI_KIND_FLAG:
        *(bool *)at = value.flag;
        break;
    case PAWL__CLI_KIND_PRIORITY:
    case PAWL__CLI_KIND_COUNT:
        *(int32_t *)at = (int32_t)value.number;
        break;
    case PAWL__CLI_KIND_DURATION:
    case PAWL__CLI_KIND_PERIOD:
    case PAWL__CLI_KIND_INSTANT:
    case PAWL__CLI_KIND_LATER:
    case PAWL__CLI_KIND_EARLIER:
        *(int64_t *)at = value.number;
        break;
    case PAWL__CLI_KIND_FACTOR:
        *(double *)at = value.real;
        break;
    case PAWL__CLI_KIND_BACKOFF:
    case PAWL__CLI_KIND_CONFLICT:
    case PAWL__CLI_KIND_DIALECT:
    case PAWL__CLI_KIND_GAP:
    case PAWL__CLI_KIND_OVERLAP:
    case PAWL__CLI_KIND_MISFIRE:
        *(uint32_t *)at = (uint32_t)value.number + 1; // 0 is the default
        break;
    case PAWL__CLI_KIND_UNIQUE:
        *(uint32_t *)at = (uint32_t)value.number;
        break;
    case PAWL__CLI_KIND_STATES:
        return pawl__cli_states(cli, id, at);
    case PAWL__CLI_KIND_UUID: {
        struct pawl_job_id *kept = pawl__cli_need(pawl__arena_alloc(&cli->arena, sizeof *kept));
        *kept = value.id;
        *(const struct pawl_job_id **)at = kept;
        break;
    }
    default:
        if (setter->count_offset) {
            set_texts(cli, setter, out);
        } else {
            *(const char **)at = pawl__cli_text(cli, id);
        }
        break;
    }
    return PAWL__CLI_EXIT_OK;
}

int pawl__cli_set(struct pawl__cli *cli, const struct pawl__cli_setter *setters, size_t count,
                  void *out)
{
    int code = PAWL__CLI_EXIT_OK;
    for (size_t i = 0; i < count && !code; i++) {
        bool given = pawl__cli_has(cli, setters[i].option);
        if (given && !setters[i].elsewhere) code = set(cli, &setters[i], out);
    }
    return code;
}

static size_t bytes_of(const struct pawl__cli_setter *setter)
{
    switch (pawl__cli_options[setter->option].kind) {
    case PAWL__CLI_KIND_FLAG:
        return sizeof(bool);
    case PAWL__CLI_KIND_PRIORITY:
    case PAWL__CLI_KIND_COUNT:
    case PAWL__CLI_KIND_BACKOFF:
    case PAWL__CLI_KIND_CONFLICT:
    case PAWL__CLI_KIND_DIALECT:
    case PAWL__CLI_KIND_GAP:
    case PAWL__CLI_KIND_OVERLAP:
    case PAWL__CLI_KIND_MISFIRE:
    case PAWL__CLI_KIND_UNIQUE:
    case PAWL__CLI_KIND_STATES:
        return sizeof(uint32_t);
    case PAWL__CLI_KIND_META:
        return sizeof(struct pawl_span);
    default:
        return sizeof(int64_t); // pointers too
    }
}

bool pawl__cli_unset(const struct pawl__cli_setter *setters, size_t count,
                     enum pawl__cli_option_id option, void *out)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (setters[i].option != option) continue;
        memset((char *)out + setters[i].offset, 0, bytes_of(&setters[i]));
        if (setters[i].count_offset) {
            memset((char *)out + setters[i].count_offset, 0, sizeof(size_t));
        }
        found = true;
    }
    return found;
}

/* ---- actor and reason ---- */

const char *pawl__cli_actor(const struct pawl__cli *cli)
{
    const char *actor = pawl__cli_text(cli, PAWL__CLI_OPT_ACTOR);
    if (!actor) actor = getenv("USER");
    if (actor && *actor) return actor;
    struct passwd *user = getpwuid(getuid()); // cron and containers do not set USER
    return user ? user->pw_name : "unknown";
}

struct pawl_by pawl__cli_by(const struct pawl__cli *cli)
{
    return (struct pawl_by){ .actor = pawl__cli_actor(cli),
                             .reason = pawl__cli_text(cli, PAWL__CLI_OPT_REASON) };
}
