/* Options as values. They were checked when they were read, so reading them cannot fail here. */
#include "cli/cli.h"
#include "base/nearest.h"
#include "base/time_text.h"

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

bool pawl__cli_flag(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    const char *text = pawl__cli_text(cli, id);
    bool on = false;
    bool ok = !text || pawl__cli_read_flag(text, &on);
    assert(ok);
    return on;
}

int64_t pawl__cli_int(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    const char *text = pawl__cli_text(cli, id);
    int64_t value = 0;
    bool ok = !text || pawl__cli_read_int(text, INT64_MIN, INT64_MAX, &value);
    assert(ok);
    return value;
}

int64_t pawl__cli_bytes(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    const char *text = pawl__cli_text(cli, id);
    int64_t value = 0;
    bool ok = !text || pawl__cli_read_bytes(text, &value);
    assert(ok);
    return value;
}

int64_t pawl__cli_duration(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    const char *text = pawl__cli_text(cli, id);
    int64_t ms = 0;
    enum pawl_err err = text ? pawl__duration_parse(text, &ms) : PAWL_OK;
    assert(!err);
    return ms;
}

static int64_t age(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    int64_t ms = 0;
    bool ok = pawl__cli_read_age(pawl__cli_text(cli, id), &ms);
    return ok && ms ? ms : 1; // 0 would mean the default
}

struct pawl_retention pawl__cli_retention(const struct pawl__cli *cli)
{
    return (struct pawl_retention){ .archive_after_ms = age(cli, PAWL__CLI_OPT_ARCHIVE_AFTER),
                                    .purge_after_ms = age(cli, PAWL__CLI_OPT_PURGE_AFTER) };
}

/* The place of an option's value among its kind's words. */
static int choice(const struct pawl__cli *cli, enum pawl__cli_option_id id)
{
    const char *text = pawl__cli_text(cli, id);
    int place = pawl__cli_read_choice(pawl__cli_kind_choices(pawl__cli_options[id].kind), text,
                                      strlen(text));
    assert(place >= 0); // it was checked when it was read
    return place;
}

enum pawl__log_level pawl__cli_log_level(const struct pawl__cli *cli)
{
    return (enum pawl__log_level)choice(cli, PAWL__CLI_OPT_LOG_LEVEL);
}

enum pawl__log_format pawl__cli_log_format(const struct pawl__cli *cli)
{
    enum { AUTO, TEXT } chosen = choice(cli, PAWL__CLI_OPT_LOG_FORMAT);
    bool text = chosen == TEXT || (chosen == AUTO && cli->err_tty);
    return text ? PAWL__LOG_FORMAT_TEXT : PAWL__LOG_FORMAT_JSON;
}

int64_t pawl__cli_when(const struct pawl__cli *cli, enum pawl__cli_option_id id, int sign)
{
    const char *text = pawl__cli_text(cli, id);
    int64_t at_ms = 0;
    bool ok = !text || pawl__cli_read_when(text, cli->now_ms, sign, &at_ms);
    assert(ok);
    return at_ms;
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
        if (known.at && strstr(known.at, text)) continue; // several of ours share a name there
        pawl__buf_printf(&known, "%s%s", known.len ? ", " : "", text);
    }
    pawl__cli_error("\"--%s\": there is no state \"%s\"", pawl__cli_options[id].name, name);
    if (nearest.best) {
        pawl__cli_hint("did you mean \"%s\"?", nearest.best);
    } else {
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

const char *pawl__cli_actor(const struct pawl__cli *cli)
{
    const char *actor = pawl__cli_text(cli, PAWL__CLI_OPT_ACTOR);
    if (!actor) actor = getenv("USER");
    if (actor && *actor) return actor;
    struct passwd *user = getpwuid(getuid()); // cron and containers set no USER
    return user ? user->pw_name : "unknown";
}

struct pawl_by pawl__cli_by(const struct pawl__cli *cli)
{
    return (struct pawl_by){ .actor = pawl__cli_actor(cli),
                             .reason = pawl__cli_text(cli, PAWL__CLI_OPT_REASON) };
}
