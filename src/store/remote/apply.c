/* A batch of operations: as few requests as their paths and sizes allow. One thread at a time. */
#include "store/remote/remote.h"

#include "base/clock.h"
#include "base/diag.h"

#include <assert.h>
#include <string.h>

enum { ENVELOPE_BYTES = 16 }; /* what a body holds around its operations */

/* Operations that travel together. */
struct parcel {
    struct pawl__backend *backend;
    struct pawl__op **ops;
    size_t first, count; /* of ops; those between that do not travel have been answered */
    enum pawl__wire_path path;
    struct pawl__buf body;
};

/* ---- answers ---- */

static void fail_all(struct parcel *parcel, enum pawl_err err, const struct pawl_diag *diag)
{
    for (size_t i = 0; i < parcel->count; i++) {
        pawl__rm_op_fail(parcel->ops[parcel->first + i], err, diag);
    }
}

/* One answer. Its text moves into the op's arena, because payloads stay part of it. */
static void read_one(const struct parcel *parcel, struct pawl__op *op, struct pawl_span text)
{
    struct pawl_diag why = { 0 }, diag;
    struct pawl__wire_answer answer;
    char *copy = pawl__arena_dup(&op->arena, text.at, text.len);
    if (!copy) {
        pawl__rm_op_fail(op, pawl__fail_nomem(&diag), &diag);
        return;
    }
    enum pawl_err err = pawl__wire_read((struct pawl_span){ copy, text.len },
                                        &pawl__wire_answer_shape, false, &op->arena, &answer, &why);
    if (err) {
        err = pawl__rm_not_understood(parcel->backend, &why, &diag);
        pawl__rm_op_fail(op, err, &diag);
        return;
    }
    pawl__rm_op_answer(op, &answer);
}

static enum pawl_err read_all(struct parcel *parcel, struct pawl_span reply,
                              struct pawl__arena *scratch, struct pawl_diag *diag)
{
    struct pawl__json json;
    struct pawl_diag why = { 0 };
    enum pawl_err err = pawl__json_parse(reply, PAWL__WIRE_DEPTH_MAX, scratch, &json, &why);
    uint32_t list = err || json.tokens[0].type != PAWL__JSON_OBJECT
                        ? 0
                        : pawl__json_member(&json, 0, "answers");
    if (!list || json.tokens[list].type != PAWL__JSON_ARRAY ||
        json.tokens[list].count != parcel->count) {
        if (!err) pawl__fail(&why, PAWL_ERR_ARG, "no answer for each operation");
        return pawl__rm_not_understood(parcel->backend, &why, diag);
    }
    uint32_t token = pawl__json_first(list);
    for (size_t i = 0; i < parcel->count; i++) {
        read_one(parcel, parcel->ops[parcel->first + i], pawl__json_span(&json, token));
        token = json.tokens[token].next;
    }
    return PAWL_OK;
}

/* ---- lost answers ---- */

/* Ids that we drew for a submit: if its jobs are there, it happened. */
static bool ids_are_ours(const struct pawl__op *op)
{
    if (op->kind != PAWL__OP_SUBMIT) return false;
    if (op->submit.flow && op->submit.flow->spec->id) return false;
    for (size_t i = 0; i < op->submit.count; i++) {
        if (op->submit.jobs[i].spec->id) return false;
    }
    return true;
}

/* True: the flow is there, and the op has been answered. */
static bool found_flow(struct pawl__backend *backend, struct pawl__op *op,
                       struct pawl__arena *scratch)
{
    struct pawl_flows flows;
    const struct pawl__wire_ask ask = { .ids = &op->submit.flow->row.id, .id_count = 1 };
    enum pawl_err err = pawl__rm_ask(backend, PAWL__WIRE_PATH_FLOWS, &ask, &pawl__wire_flows_shape,
                                     scratch, &flows, NULL);
    if (err || flows.count != 1) return false;
    op->now_ms = flows.at[0].created_at_ms;
    op->err = PAWL_OK;
    return true;
}

/* True: all of its jobs are there, and the op has been answered. */
static bool found_submit(struct pawl__backend *backend, struct pawl__op *op,
                         struct pawl__arena *scratch)
{
    size_t count = op->submit.count, found = 0;
    struct pawl_job *jobs = NULL;
    if (op->submit.flow) return found_flow(backend, op, scratch);
    struct pawl_job_id *ids = pawl__arena_calloc(scratch, count, sizeof *ids);
    if (!ids) return false;
    for (size_t i = 0; i < count; i++) {
        ids[i] = op->submit.jobs[i].id;
    }
    enum pawl_err err = pawl__rm_get(backend, ids, count, scratch, &jobs, &found, NULL);
    if (err || found != count) return false;
    for (size_t i = 0; i < count; i++) {
        op->submit.out[i] = (struct pawl_submitted){ .id = jobs[i].id, .state = jobs[i].state };
    }
    op->now_ms = jobs[0].created_at_ms;
    op->err = PAWL_OK;
    return true;
}

static void look_for_lost(struct parcel *parcel, struct pawl__arena *scratch, enum pawl_err err,
                          const struct pawl_diag *diag)
{
    for (size_t i = 0; i < parcel->count; i++) {
        struct pawl__op *op = parcel->ops[parcel->first + i];
        if (ids_are_ours(op) && found_submit(parcel->backend, op, scratch)) continue;
        pawl__rm_op_fail(op, err, diag);
    }
}

/* ---- sending ---- */

static void send_parcel(struct parcel *parcel)
{
    struct pawl_diag diag = { 0 };
    struct pawl__arena scratch = { .chunks = NULL };
    if (!parcel->count) return;
    pawl__buf_add_text(&parcel->body, "]}");
    struct pawl__rm_call call = { .path = parcel->path,
                                  .body = { parcel->body.at, parcel->body.len },
                                  .once = true };
    enum pawl_err err = parcel->body.failed ? pawl__fail_nomem(&diag)
                                            : pawl__rm_call(parcel->backend, &call, &diag);
    if (!err) {
        struct pawl_span reply = { call.reply.at ? call.reply.at : "", call.reply.len };
        err = read_all(parcel, reply, &scratch, &diag);
        if (err) fail_all(parcel, err, &diag);
    } else if (call.in_doubt) {
        look_for_lost(parcel, &scratch, err, &diag);
    } else {
        fail_all(parcel, err, &diag);
    }
    pawl__buf_release(&call.reply);
    pawl__arena_release(&scratch);
    pawl__buf_clear(&parcel->body);
    parcel->count = 0;
}

static enum pawl_err check_size(const struct pawl__backend *backend, size_t len,
                                struct pawl_diag *diag)
{
    if ((int64_t)len + ENVELOPE_BYTES <= backend->body_max) return PAWL_OK;
    return pawl__fail(diag, PAWL_ERR_LIMIT,
                      "%zu bytes are more than the %lld that the server at \"%s\" takes at a "
                      "time; send less, or let it take more with --body-bytes-max",
                      len, (long long)backend->body_max, backend->base);
}

/* Put the op at `index` into the parcel, sending it first when it has no room or another path. */
static void add_op(struct parcel *parcel, size_t index, enum pawl__wire_path path,
                   const struct pawl__buf *text)
{
    bool fits = (int64_t)(parcel->body.len + text->len) + ENVELOPE_BYTES <=
                parcel->backend->body_max;
    bool next = parcel->first + parcel->count == index; // its ops must be neighbours
    if (parcel->count &&
        (path != parcel->path || !fits || !next || parcel->count == PAWL__WIRE_OPS_MAX)) {
        send_parcel(parcel);
    }
    if (!parcel->count) {
        parcel->path = path;
        parcel->first = index;
    }
    pawl__buf_add_text(&parcel->body, parcel->count ? "," : "{\"ops\":[");
    pawl__buf_add(&parcel->body, text->at, text->len);
    parcel->count++;
}

static void answer_idle(const struct pawl__backend *backend, struct pawl__op *op)
{
    op->err = PAWL_OK;
    op->now_ms = pawl__clock_wall_ms(backend->clock);
    if (op->kind == PAWL__OP_ARCHIVE || op->kind == PAWL__OP_PURGE) {
        op->retire.moved = 0;
        op->retire.more = false;
    } else {
        op->sweep.moved = 0;
        op->sweep.more = false;
        op->sweep.next_at_ms = 0;
    }
}

enum pawl_err pawl__rm_apply(struct pawl__backend *backend, struct pawl__op **ops, size_t count,
                             struct pawl_diag *diag)
{
    struct parcel parcel = { .backend = backend, .ops = ops };
    struct pawl__buf text = { 0 };
    (void)diag; // each has its own
    for (size_t i = 0; i < count; i++) {
        struct pawl__arena scratch = { .chunks = NULL };
        struct pawl__wire_op op;
        struct pawl_diag why = { 0 };
        if (pawl__rm_op_is_idle(ops[i])) {
            answer_idle(backend, ops[i]);
            continue;
        }
        enum pawl_err err = pawl__rm_op_say(ops[i], &scratch, &op, &why);
        pawl__buf_clear(&text);
        if (!err) pawl__wire_print(&text, &pawl__wire_op_shape, &op);
        if (!err && text.failed) err = pawl__fail_nomem(&why);
        if (!err) err = check_size(backend, text.len, &why);
        if (err) {
            pawl__rm_op_fail(ops[i], err, &why);
        } else {
            add_op(&parcel, i, pawl__wire_op_path(op.op), &text);
        }
        pawl__arena_release(&scratch);
    }
    send_parcel(&parcel);
    pawl__buf_release(&text);
    pawl__buf_release(&parcel.body);
    backend->ready = false;
    for (size_t i = 0; i < count; i++) {
        backend->ready |= pawl__rm_op_readies(ops[i]);
    }
    return PAWL_OK;
}
