/* JSON output. Times are RFC 3339, names of durations end in _ms, empty members are omitted. */
#include "cli/cli.h"
#include "fields/fields.h"

/* ---- states ---- */

void pawl__cli_print_state(const struct pawl__shape_writer *writer,
                           const struct pawl__member *member, const void *base)
{
    enum pawl_state state = *(const enum pawl_state *)((const char *)base + member->offset);
    if (state == PAWL_STATE_NONE && !(member->flags & PAWL__ALWAYS)) return;
    const char *text = pawl__cli_state_text(writer->ctx, state);
    pawl__buf_add_json(writer->out, text, strlen(text));
}

void pawl__cli_state_names(struct pawl__cli_state_names *names, const struct pawl__cli *cli)
{
    *names = (struct pawl__cli_state_names){ .count = 0 };
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        const char *name = pawl__cli_state_text(cli, state);
        size_t i = 0;
        while (i < names->count && strcmp(names->name[i], name) != 0) {
            i++;
        }
        if (i == names->count) names->name[names->count++] = name;
        names->of[state] = i;
    }
}

int64_t pawl__cli_state_sum(const struct pawl__cli_state_names *names, const int64_t *count,
                            size_t name)
{
    int64_t sum = 0;
    for (enum pawl_state state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        if (name == PAWL_STATE_END || names->of[state] == name) sum += count[state];
    }
    return sum;
}

void pawl__cli_print_counts(const struct pawl__shape_writer *writer,
                            const struct pawl__member *member, const void *base)
{
    const int64_t *count = (const int64_t *)((const char *)base + member->offset);
    struct pawl__member members[PAWL_STATE_END];
    struct pawl__cli_state_names names;
    int64_t sums[PAWL_STATE_END];
    pawl__cli_state_names(&names, writer->ctx);
    for (size_t i = 0; i < names.count; i++) {
        sums[i] = pawl__cli_state_sum(&names, count, i);
        members[i] = (struct pawl__member){
            .name = names.name[i], .kind = PAWL__AS_INT64, .at = &sums[i], .flags = PAWL__ALWAYS
        };
    }
    pawl__members_print(writer, members, names.count);
}

void pawl__cli_print_total(const struct pawl__shape_writer *writer,
                           const struct pawl__member *member, const void *base)
{
    const int64_t *count = (const int64_t *)((const char *)base + member->offset);
    pawl__buf_add_int(writer->out, pawl__cli_state_sum(NULL, count, PAWL_STATE_END));
}

/* ---- jobs ---- */

#define S struct pawl_job
#define ALWAYS(text, kind, member) PAWL__MEMBER(text, kind, S, member, .flags = PAWL__ALWAYS)
#define STATE(text, member, ...) PAWL__CLI_STATE(text, S, member, __VA_ARGS__)

#define BRIEF                                                                                      \
    ALWAYS("id", ID, id), ALWAYS("type", NAME, type), ALWAYS("queue", NAME, queue),                \
        STATE("state", state, .flags = PAWL__ALWAYS), ALWAYS("attempt", INT64, attempt)

static const struct pawl__member brief_members[] = { BRIEF };
const struct pawl__shape pawl__cli_brief_shape = PAWL__SHAPE(S, brief_members);

#define JOB_ID(text, member) PAWL__MEMBER(text, ID, S, member)
#define JOB_TEXT(text, member) PAWL__MEMBER(text, NAME, S, member)
#define JOB_JSON(text, member) PAWL__MEMBER(text, JSON, S, member)
#define JOB_ARGS(text, member) PAWL__MEMBER(text, JSON, S, member)
#define JOB_I32(text, member) PAWL__MEMBER(text, INT32, S, member)
#define JOB_BITS(text, member) PAWL__MEMBER(text, INT32, S, member)
#define JOB_I64(text, member) PAWL__MEMBER(text, INT64, S, member)
#define JOB_MS(text, member) PAWL__MEMBER(text, INT64, S, member)
#define JOB_TIME(text, member) PAWL__MEMBER(text, INSTANT, S, member)
#define JOB_AT(text, member) PAWL__MEMBER(text, INSTANT, S, member)
#define JOB_BOOL(text, member) PAWL__MEMBER(text, BOOL, S, member)
#define JOB_STATE(text, member) STATE(text, member)
#define JOB_SOME_STATE(text, member) STATE(text, member)

/* The members that are always printed come first, then the rest of the list. */
#define X(member, column, kind, origin, name, ...) JOB_##kind(name, member),
static const struct pawl__member job_members[] = {
    BRIEF,
    ALWAYS("max_attempts", INT32, attempts_max),
    ALWAYS("priority", INT32, priority),
    ALWAYS("args", ARRAY, args),
    ALWAYS("meta", OBJECT, meta),
    ALWAYS("tags", ARRAY, tags),
    PAWL__JOB_FIELDS(X) // skips those above
};
#undef X
const struct pawl__shape pawl__cli_job_shape = PAWL__SHAPE(S, job_members);
#undef S

#define S struct pawl_failure
static const struct pawl__member error_members[] = {
    PAWL__MEMBER("type", NAME, S, type),
    PAWL__MEMBER("code", NAME, S, code),
    PAWL__MEMBER("message", NAME, S, message),
    PAWL__MEMBER("details", JSON, S, details),
};
const struct pawl__shape pawl__cli_error_shape = PAWL__SHAPE(S, error_members);
#undef S

/* ---- into the output ---- */

struct pawl__shape_writer pawl__cli_writer(const struct pawl__cli *cli, struct pawl__buf *out)
{
    return (struct pawl__shape_writer){ .out = out, .ctx = cli, .compact = true };
}

void pawl__cli_put_json(struct pawl__cli *cli, const struct pawl__shape *shape, const void *at)
{
    struct pawl__shape_writer writer = pawl__cli_writer(cli, &cli->out);
    pawl__shape_print(&writer, shape, at);
    pawl__buf_add_text(&cli->out, "\n");
}

void pawl__cli_put_members(struct pawl__cli *cli, const struct pawl__member *members, size_t count)
{
    struct pawl__shape_writer writer = pawl__cli_writer(cli, &cli->out);
    pawl__members_print(&writer, members, count);
    pawl__buf_add_text(&cli->out, "\n");
}
