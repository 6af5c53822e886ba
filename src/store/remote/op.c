/* Operations of the store as the wire has them, and back, by their forms in wire/ops.h. By hand is
 * only what is not the same on both sides. */
#include "store/remote/remote.h"

#include "base/diag.h"

#include <stdio.h>
#include <string.h>

/* ---- which form ---- */

#define REMOTE_SENT(name) .form = PAWL__WIRE_OP_##name
#define REMOTE_READIES(name) REMOTE_SENT(name), .readies = true
#define REMOTE_SPLIT(name) .form = PAWL__WIRE_OP_NONE, .readies = true /* see form_of */
#define REMOTE_UPKEEP(name) .upkeep = true
#define REMOTE_LOCAL(name) .form = PAWL__WIRE_OP_NONE
#define X(name, text, weight, remote) [PAWL__OP_##name] = { REMOTE_##remote(name) },
static const struct {
    enum pawl__wire_op_kind form;
    bool upkeep, readies;
} kinds[PAWL__OP_END] = { PAWL__OPS(X) };
#undef X

static const enum pawl__wire_op_kind schedule_forms[] = {
    [PAWL__SCHEDULE_PAUSE] = PAWL__WIRE_OP_SCHEDULE_PAUSE,
    [PAWL__SCHEDULE_RESUME] = PAWL__WIRE_OP_SCHEDULE_RESUME,
    [PAWL__SCHEDULE_RUN] = PAWL__WIRE_OP_SCHEDULE_RUN,
};

/* NONE: it has none. */
static enum pawl__wire_op_kind form_of(const struct pawl__op *op)
{
    if (op->kind == PAWL__OP_CONTROL && op->control.run) return PAWL__WIRE_OP_END;
    bool flow = op->kind == PAWL__OP_SUBMIT && op->submit.flow;
    if (flow) return op->submit.flow->adds ? PAWL__WIRE_OP_NONE : PAWL__WIRE_OP_FLOW_SUBMIT;
    if (op->kind == PAWL__OP_SCHEDULE_CONTROL) return schedule_forms[op->schedule_control.control];
    return kinds[op->kind].form;
}

bool pawl__rm_op_is_idle(const struct pawl__op *op)
{
    return kinds[op->kind].upkeep;
}

bool pawl__rm_op_readies(const struct pawl__op *op)
{
    return !op->err && kinds[op->kind].readies;
}

/* ---- said by hand ---- */

/* Keys are made by the server, so they must follow from the spec. */
static bool keys_follow(const struct pawl__new_job *job)
{
    const struct pawl_job_spec *spec = job->spec;
    size_t count = (spec->idempotency_key != NULL) + (spec->business_key != NULL) +
                   (spec->unique.keys != 0);
    return count == job->key_count && (!job->tags.len || spec->tag_count);
}

static enum pawl_err refuse_keys(struct pawl_diag *diag)
{
    return pawl__fail(diag, PAWL_ERR_UNSUPPORTED,
                      "a server makes keys and tags itself, from the spec");
}

/* The specs alone travel: what else a new job has follows from them. */
static enum pawl_err say_jobs(const struct pawl__op *op, struct pawl__arena *scratch,
                              struct pawl__wire_op *out, struct pawl_diag *diag)
{
    struct pawl_job_spec *specs = pawl__arena_calloc(scratch, op->submit.count, sizeof *specs);
    if (!specs) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < op->submit.count; i++) {
        const struct pawl__new_job *job = &op->submit.jobs[i];
        if (!keys_follow(job)) return refuse_keys(diag);
        specs[i] = *job->spec;
        specs[i].id = &job->id; // chosen here: so it can be looked for when the answer is lost
    }
    out->jobs = specs;
    out->job_count = op->submit.count;
    return PAWL_OK;
}

/* The same of a flow, whose jobs are in order of its nodes. Which of them wait is not said: that
 * follows as well. */
static enum pawl_err say_flow(const struct pawl__op *op, struct pawl__arena *scratch,
                              struct pawl__wire_op *out, struct pawl_diag *diag)
{
    const struct pawl__new_flow *flow = op->submit.flow;
    const struct pawl__new_job *job = op->submit.jobs;
    size_t count = flow->spec->node_count;
    struct pawl_flow_node *nodes = pawl__arena_calloc(scratch, count, sizeof *nodes);
    if (!nodes) return pawl__fail_nomem(diag);
    for (size_t i = 0; i < count; i++) {
        nodes[i] = flow->spec->nodes[i];
        if (flow->nodes[i].kind != PAWL_FLOW_KIND_JOB) continue;
        if (!keys_follow(job)) return refuse_keys(diag);
        nodes[i].job.id = &job++->id;
    }
    out->flow = *flow->spec;
    out->flow.id = &flow->row.id;
    out->flow.nodes = nodes;
    return PAWL_OK;
}

/* A server leaves no arguments out: it is asked for no more than would come if it did. */
static int64_t bytes_of_all(const struct pawl__op *op)
{
    int64_t each = op->claim.args_max, count = op->claim.limit;
    return each > INT64_MAX / count ? INT64_MAX : each * count;
}

/* A public struct, which knows no args_max. */
static enum pawl_err say_claim(const struct pawl__op *op, struct pawl__arena *scratch,
                               struct pawl__wire_op *out, struct pawl_diag *diag)
{
    (void)scratch, (void)diag;
    out->claim = (struct pawl_claim){ .queues = op->claim.queues,
                                      .queue_count = op->claim.queue_count,
                                      .types = op->claim.types,
                                      .type_count = op->claim.type_count,
                                      .limit = op->claim.limit,
                                      .bytes_max = op->claim.bytes_max ? op->claim.bytes_max
                                                                       : bytes_of_all(op),
                                      .worker = op->claim.worker,
                                      .lease_ms = op->claim.lease_ms,
                                      .timed = op->claim.timed };
    return PAWL_OK;
}

static enum pawl_err say_schedules(const struct pawl__op *op, struct pawl__arena *scratch,
                                   struct pawl__wire_op *out, struct pawl_diag *diag)
{
    struct pawl_schedule_spec *spec = pawl__arena_alloc(scratch, sizeof *spec);
    if (!spec) return pawl__fail_nomem(diag);
    out->schedules = spec;
    out->schedule_count = 1;
    return pawl__rm_schedule_say(op->schedule_put.given, scratch, spec, diag);
}

/* Without who does it: see say_by. */
static enum pawl_err say_options(const struct pawl__op *op, struct pawl__arena *scratch,
                                 struct pawl__wire_op *out, struct pawl_diag *diag)
{
    (void)scratch, (void)diag;
    out->options = op->schedule_put.given->options;
    out->options.actor = NULL;
    return PAWL_OK;
}

static enum pawl_err say_by(const struct pawl__op *op, struct pawl__arena *scratch,
                            struct pawl__wire_op *out, struct pawl_diag *diag)
{
    (void)scratch, (void)diag;
    out->by.actor = op->schedule_put.given->options.actor;
    return PAWL_OK;
}

/* ---- heard by hand ---- */

/* An answer that lacks what the question was about. */
static void read_nonsense(struct pawl__op *op)
{
    op->err = pawl__fail(op->diag, PAWL_ERR_UNSUPPORTED,
                         "the server's answer does not fit; use the same version of pawl on both "
                         "sides");
}

/* Into the caller's list. */
static void read_submitted(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    if (answer->submitted_count != op->submit.count) {
        read_nonsense(op);
        return;
    }
    memcpy(op->submit.out, answer->submitted, op->submit.count * sizeof *op->submit.out);
}

/* The list is the caller's to change: both live in the op's arena. */
static void read_jobs(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    if (op->kind == PAWL__OP_ASSIGN) {
        op->assign.job = (struct pawl_job *)answer->jobs;
        if (answer->job_count != 1) read_nonsense(op);
        return;
    }
    op->claim.jobs = (struct pawl_job *)answer->jobs;
    op->claim.job_count = answer->job_count;
}

/* Into the caller's list, of enums. */
static void read_results(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    if (answer->result_count != op->extend.count) {
        read_nonsense(op);
        return;
    }
    for (size_t i = 0; i < op->extend.count; i++) {
        op->extend.results[i] = (enum pawl_err)answer->results[i];
    }
}

/* ---- forms ---- */

/* Of an operation, or of its answer; see wire/ops.h. */
struct member {
    enum { END, SAME, SPAN, AT, ALWAYS, SAY, READ } how;
    uint16_t wire, op, bytes; /* offsets, and how long it is on the wire */
    enum pawl_err (*say)(const struct pawl__op *op, struct pawl__arena *scratch,
                         struct pawl__wire_op *out, struct pawl_diag *diag);
    void (*read)(struct pawl__op *op, const struct pawl__wire_answer *answer);
};

/* clang-format off */
#define TYPE(whole, member) typeof(((whole *)0)->member)
#define CHECK(type, other, member)                                                                 \
    _Static_assert(__builtin_types_compatible_p(type, other), #member " is of another type");
#define CHECK_SAME(whole, member, here)                                                            \
    CHECK(TYPE(whole, member), TYPE(struct pawl__op, here), here)
#define CHECK_COUNT(whole, member, here) CHECK_SAME(whole, member, here)
#define CHECK_ALWAYS(whole, member, here) CHECK_SAME(whole, member, here)
#define CHECK_SPAN(whole, member, here) CHECK(struct pawl_span, TYPE(struct pawl__op, here), here)
#define CHECK_AT(whole, member, here)                                                              \
    CHECK(const TYPE(whole, member) *, TYPE(struct pawl__op, here), here)
#define CHECK_HAND(...)
#define ASK(how, member, here) CHECK_##how(struct pawl__wire_op, member, here)
#define ANSWER(how, member, here) CHECK_##how(struct pawl__wire_answer, member, here)
#define X(name, ...) PAWL__WIRE_FORM_##name(ASK, ANSWER)
PAWL__WIRE_OPS(X)
#undef X
#undef ASK
#undef ANSWER

#define PLAIN(kind, whole, member, here)                                                           \
    { .how = kind, .wire = offsetof(whole, member), .op = offsetof(struct pawl__op, here),         \
      .bytes = sizeof(TYPE(whole, member)) },
#define ASK_SAME(...) PLAIN(SAME, struct pawl__wire_op, __VA_ARGS__)
#define ASK_COUNT(...) PLAIN(SAME, struct pawl__wire_op, __VA_ARGS__)
#define ASK_SPAN(...) PLAIN(SPAN, struct pawl__wire_op, __VA_ARGS__)
#define ASK_AT(...) PLAIN(AT, struct pawl__wire_op, __VA_ARGS__)
#define ASK_HAND(member, ...) { .how = SAY, .say = say_##member },
#define ANSWER_SAME(...) PLAIN(SAME, struct pawl__wire_answer, __VA_ARGS__)
#define ANSWER_ALWAYS(...) PLAIN(ALWAYS, struct pawl__wire_answer, __VA_ARGS__)
#define ANSWER_HAND(member, ...) { .how = READ, .read = read_##member },
#define ASK(how, ...) ASK_##how(__VA_ARGS__)
#define ANSWER(how, ...) ANSWER_##how(__VA_ARGS__)
#define NOTHING(...)
#define X(name, ...)                                                                               \
    static const struct member asks_##name[] = {                                                   \
        PAWL__WIRE_FORM_##name(ASK, NOTHING) { .how = END }                                        \
    };                                                                                             \
    static const struct member answers_##name[] = {                                                \
        PAWL__WIRE_FORM_##name(NOTHING, ANSWER) { .how = END }                                     \
    };
PAWL__WIRE_OPS(X)
#undef X

static const struct {
    const struct member *asks, *answers;
} forms[PAWL__WIRE_OP_LAST] = {
#define X(name, ...) [PAWL__WIRE_OP_##name] = { asks_##name, answers_##name },
    PAWL__WIRE_OPS(X)
#undef X
};
/* clang-format on */

/* ---- say ---- */

static enum pawl_err say_member(const struct member *member, const struct pawl__op *op,
                                struct pawl__arena *scratch, struct pawl__wire_op *out,
                                struct pawl_diag *diag)
{
    const char *from = (const char *)op + member->op;
    char *to = (char *)out + member->wire;
    const struct pawl_span *span = (const struct pawl_span *)from;
    switch (member->how) {
    case SAY:
        return member->say(op, scratch, out, diag);
    case AT:
        memcpy(to, *(const void *const *)from, member->bytes);
        return PAWL_OK;
    case SPAN:
        if (!span->len) return PAWL_OK;
        *(const char **)to = pawl__arena_dup(scratch, span->at, span->len);
        return *(const char **)to ? PAWL_OK : pawl__fail_nomem(diag);
    default:
        memcpy(to, from, member->bytes);
        return PAWL_OK;
    }
}

enum pawl_err pawl__rm_op_say(const struct pawl__op *op, struct pawl__arena *scratch,
                              struct pawl__wire_op *out, struct pawl_diag *diag)
{
    enum pawl_err err = PAWL_OK;
    *out = (struct pawl__wire_op){ .op = form_of(op) };
    if (!out->op) {
        return pawl__fail(diag, PAWL_ERR_UNSUPPORTED,
                          "a server does not take this operation from elsewhere");
    }
    for (const struct member *ask = forms[out->op].asks; !err && ask->how != END; ask++) {
        err = say_member(ask, op, scratch, out, diag);
    }
    return err;
}

/* ---- hear ---- */

void pawl__rm_op_fail(struct pawl__op *op, enum pawl_err err, const struct pawl_diag *diag)
{
    op->err = err;
    if (op->diag) *op->diag = *diag;
}

/* The server's calls say which job of a batch is to blame, and so will the caller's. */
static void read_blame(struct pawl__op *op, const struct pawl__wire_answer *answer,
                       const char **field, const char **text)
{
    char mark[32];
    size_t count = op->submit.count;
    size_t index = answer->failed_index > 0 ? (size_t)answer->failed_index - 1 : count;
    op->submit.failed_index = index < count ? index : count;
    if (count < 2 || index >= count) return;
    size_t len = (size_t)snprintf(mark, sizeof mark, "[%zu]", index);
    if (strncmp(*field, mark, len) == 0) *field += len + ((*field)[len] == '.');
    if (strncmp(*text, mark, len) == 0 && strncmp(*text + len, ": ", 2) == 0) *text += len + 2;
}

static void read_refusal(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    const char *field = answer->field ? answer->field : "";
    const char *text = answer->text ? answer->text : pawl_err_text(answer->err);
    if (op->kind == PAWL__OP_SUBMIT) read_blame(op, answer, &field, &text);
    op->err = pawl__fail_field(op->diag, answer->err, field, "%s", text);
}

void pawl__rm_op_answer(struct pawl__op *op, const struct pawl__wire_answer *answer)
{
    op->now_ms = answer->now_ms;
    op->err = PAWL_OK;
    if (answer->err) read_refusal(op, answer);
    for (const struct member *member = forms[form_of(op)].answers; member->how != END; member++) {
        if (answer->err && member->how != ALWAYS) continue;
        if (member->how == READ) {
            member->read(op, answer);
        } else {
            memcpy((char *)op + member->op, (const char *)answer + member->wire, member->bytes);
        }
    }
}
