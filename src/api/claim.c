/* Checks of the requests of owners of runs. */
#include "api/claim.h"
#include "api/check.h"
#include "base/diag.h"
#include "base/json.h"

#include <assert.h>

enum { ERROR_TYPE_BYTES_MAX = 255, LEASE_MS = 30000, ROUTE_MS = 5000 };

static const struct pawl__text_rule rule_worker = { "worker", PAWL_WORKER_BYTES_MAX };

static enum pawl_err check_names(const struct pawl_claim *claim, struct pawl_diag *diag)
{
    if (!claim->queue_count) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "queues", "name at least one queue");
    }
    if (claim->queue_count > PAWL__LIST_MAX || claim->type_count > PAWL__LIST_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT,
                                claim->queue_count > PAWL__LIST_MAX ? "queues" : "types",
                                "at most %d may be named", PAWL__LIST_MAX);
    }
    if (!claim->queues || (claim->type_count && !claim->types)) {
        const char *field = claim->queues ? "types" : "queues";
        return pawl__fail_field(diag, PAWL_ERR_ARG, field, "%s is missing", field);
    }
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < claim->queue_count; i++) {
        err = pawl__check_queue(claim->queues[i], diag);
    }
    for (size_t i = 0; !err && i < claim->type_count; i++) {
        err = pawl__check_types(claim->types[i], diag);
    }
    return err;
}

enum pawl_err pawl__claim_op(const struct pawl_claim *claim, struct pawl__op *op,
                             struct pawl_diag *diag)
{
    enum pawl_err err = check_names(claim, diag);
    if (!err) err = pawl__check_text(&rule_worker, claim->worker, diag);
    if (!err) err = pawl__check_time("lease_ms", PAWL__TIME_LEASE, claim->lease_ms, diag);
    if (err) return err;
    if (claim->limit < 0 || claim->limit > PAWL_CLAIM_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "limit", "limit must lie between 1 and %d",
                                PAWL_CLAIM_MAX);
    }
    if (claim->bytes_max < 0) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "bytes_max", "bytes_max must not be negative");
    }
    op->kind = PAWL__OP_CLAIM;
    op->claim.queues = claim->queues;
    op->claim.queue_count = claim->queue_count;
    op->claim.types = claim->types;
    op->claim.type_count = claim->type_count;
    op->claim.limit = claim->limit ? claim->limit : 1;
    op->claim.bytes_max = claim->bytes_max;
    op->claim.worker = claim->worker;
    op->claim.lease_ms = claim->lease_ms ? claim->lease_ms : LEASE_MS;
    op->claim.timed = claim->timed;
    return PAWL_OK;
}

enum pawl_err pawl__route_op(const struct pawl_claim *claim, struct pawl__op *op,
                             struct pawl_diag *diag)
{
    enum pawl_err err = pawl__claim_op(claim, op, diag);
    if (err) return err;
    if (claim->timed) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "timed",
                                "timed is for runs: say it when the job is assigned");
    }
    op->kind = PAWL__OP_ROUTE;
    op->claim.lease_ms = claim->lease_ms ? claim->lease_ms : ROUTE_MS;
    return PAWL_OK;
}

enum pawl_err pawl__unroute_op(const struct pawl_routed *routed, struct pawl__op *op,
                               struct pawl_diag *diag)
{
    enum pawl_err err = pawl__check_text(&rule_worker, routed->worker, diag);
    if (err) return err;
    if (routed->token <= 0) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "token",
                                "token must be the lease_until_ms of the routed job");
    }
    op->kind = PAWL__OP_UNROUTE;
    op->assign.id = routed->id;
    op->assign.worker = routed->worker;
    op->assign.token = routed->token;
    return PAWL_OK;
}

enum pawl_err pawl__assign_op(const struct pawl_assignment *assignment, struct pawl__op *op,
                              struct pawl_diag *diag)
{
    enum pawl_err err = pawl__unroute_op(&assignment->routed, op, diag);
    if (!err) err = pawl__check_optional(&rule_worker, assignment->worker, diag);
    if (!err) err = pawl__check_time("lease_ms", PAWL__TIME_LEASE, assignment->lease_ms, diag);
    if (err) return err;
    op->kind = PAWL__OP_ASSIGN;
    op->assign.to = assignment->worker && assignment->worker[0] ? assignment->worker : NULL;
    op->assign.lease_ms = assignment->lease_ms ? assignment->lease_ms : LEASE_MS;
    op->assign.timed = assignment->timed;
    return PAWL_OK;
}

enum pawl_err pawl__check_json(const char *field, struct pawl_span json, size_t bytes_max,
                               struct pawl_diag *diag)
{
    if (!json.len) return PAWL_OK;
    if (json.len > bytes_max) {
        return pawl__fail_field(diag, PAWL_ERR_LIMIT, field, "%s is longer than %zu bytes", field,
                                bytes_max);
    }
    struct pawl__arena arena = { 0 };
    struct pawl__json parsed;
    struct pawl_diag why;
    enum pawl_err err = pawl__json_parse(json, PAWL_JSON_DEPTH_MAX, &arena, &parsed, &why);
    pawl__arena_release(&arena);
    if (err == PAWL_ERR_NOMEM) return pawl__fail_nomem(diag);
    return err ? pawl__fail_field(diag, err, field, "%s is not JSON: %s", field, why.text) : err;
}

enum pawl_err pawl__check_run(const struct pawl_run *run, int64_t least, struct pawl_diag *diag)
{
    if (run->run >= least) return PAWL_OK;
    return pawl__fail_field(diag, PAWL_ERR_ARG, "run",
                            "run must be the number that the claim gave");
}

enum pawl_err pawl__complete_op(const struct pawl_run *run, struct pawl_span result,
                                struct pawl__op *op, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__check_run(run, 1, diag);
    if (!err) err = pawl__check_json("result", result, PAWL__RESULT_BYTES_MAX, diag);
    if (err) return err;
    op->kind = PAWL__OP_COMPLETE;
    op->complete.ref = *run;
    op->complete.result = result;
    return PAWL_OK;
}

static enum pawl_err check_report(const struct pawl_report *report, struct pawl_diag *diag)
{
    static const struct pawl__text_rule type = { "type", ERROR_TYPE_BYTES_MAX };
    static const struct pawl__text_rule code = { "code", ERROR_TYPE_BYTES_MAX };
    static const struct pawl__text_rule error_class = { "error_class", ERROR_TYPE_BYTES_MAX };
    static const struct pawl__text_rule message = { "message", PAWL__ERROR_BYTES_MAX };
    enum pawl_err err = pawl__check_optional(&type, report->type, diag);
    if (!err) err = pawl__check_optional(&code, report->code, diag);
    if (!err) err = pawl__check_optional(&error_class, report->error_class, diag);
    if (!err) err = pawl__check_utf8(&message, report->message, diag);
    if (!err) err = pawl__check_json("details", report->details, PAWL__ERROR_BYTES_MAX, diag);
    if (err) return err;
    return pawl__check_time("retry_after_ms", PAWL__TIME_DURATION, report->retry_after_ms, diag);
}

enum pawl_err pawl__fail_op(const struct pawl_run *run, const struct pawl_report *report,
                            struct pawl__op *op, struct pawl_diag *diag)
{
    enum pawl_err err = pawl__check_run(run, 1, diag);
    if (!err) err = check_report(report, diag);
    if (err) return err;
    op->kind = PAWL__OP_FAIL;
    op->fail.ref = *run;
    op->fail.report = *report;
    return PAWL_OK;
}

enum pawl_err pawl__give_back_op(const struct pawl_run *run, int64_t delay_ms, struct pawl__op *op,
                                 struct pawl_diag *diag)
{
    enum pawl_err err = pawl__check_run(run, 1, diag);
    if (!err) err = pawl__check_time("delay_ms", PAWL__TIME_DURATION, delay_ms, diag);
    if (err) return err;
    op->kind = PAWL__OP_SNOOZE;
    op->snooze.ref = *run;
    op->snooze.delay_ms = delay_ms;
    return PAWL_OK;
}

enum pawl_err pawl__extend_op(const struct pawl_extension *extension, enum pawl_err *results,
                              struct pawl__op *op, struct pawl_diag *diag)
{
    if (!extension->count || extension->count > PAWL_CLAIM_MAX) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "count", "count must lie between 1 and %d",
                                PAWL_CLAIM_MAX);
    }
    enum pawl_err err =
        pawl__check_time("lease_ms", PAWL__TIME_DURATION, extension->lease_ms, diag);
    if (err) return err;
    if (!extension->lease_ms) { // a forgotten member would end the runs
        return pawl__fail_field(diag, PAWL_ERR_ARG, "lease_ms", "lease_ms must be more than 0");
    }
    op->kind = PAWL__OP_EXTEND;
    op->extend.refs = extension->runs;
    op->extend.count = extension->count;
    op->extend.lease_ms = extension->lease_ms;
    op->extend.timed = extension->timed;
    op->extend.results = results;
    return PAWL_OK;
}

struct pawl__taken pawl__taken_of(const struct pawl__op *op)
{
    if (op->kind == PAWL__OP_ASSIGN) return (struct pawl__taken){ op->assign.job, 1 };
    return (struct pawl__taken){ op->claim.jobs, op->claim.job_count };
}

void pawl__claimed(struct pawl *pawl, const struct pawl__op *op)
{
    struct pawl__taken taken = pawl__taken_of(op);
    int64_t first_ms = INT64_MAX;
    for (size_t i = 0; i < taken.count; i++) {
        int64_t until_ms = taken.jobs[i].lease_until_ms;
        if (until_ms < first_ms) first_ms = until_ms;
    }
    if (taken.count) pawl__engine_expect_lapse(pawl->engine, first_ms, op->now_ms);
}

struct pawl_failed pawl__failed_of(const struct pawl__op *op)
{
    return (struct pawl_failed){ .to = op->fail.to,
                                 .attempt = op->fail.attempt,
                                 .due_at_ms = op->fail.due_at_ms,
                                 .delay_ms = op->fail.delay_ms };
}
