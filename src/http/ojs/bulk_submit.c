/* POST /ojs/v1/jobs/bulk: many jobs, each by itself or all or none. On the pool.
 *
 * With an idempotency key a repeated request gets the jobs of the first one: each job has a key of
 * its own, made from the request's, so that the store decides. What the body was is kept for a day,
 * to tell a repeat from a mistake. */
#include "base/sha256.h"
#include "http/ojs/ojs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES_MAX = 128, KEPT_MS = 86400000 };

/* A posted call, and what came of it. */
struct posted {
    struct pawl__call call; /* first; no answer: `err` says why it was not posted */
    enum pawl_err err;
    struct pawl_diag diag;
};

/* One job of the request. */
struct item {
    struct pawl__envelope envelope;
    struct pawl__fault fault; /* why it is not in; kind NONE: it is */
    struct pawl_submitted submitted, holder;
    bool clash; /* `holder` is in its way */
    struct posted posted;
};

struct bulk {
    struct item *items;
    struct pawl_job_spec *specs;
    size_t count, good;
    const char *key; /* NULL: none */
    bool atomic;
    int status;
    enum pawl_err trouble; /* the store's, nobody's fault */
    struct pawl_diag diag; /* of the trouble */
    struct posted all;     /* of an atomic request */
    struct pawl__warnings warnings;
    struct pawl__calls calls;
};

/* ---- posting ---- */

static void post(struct pawl__request *request, struct bulk *bulk, struct posted *posted,
                 const struct pawl_job_spec *specs, size_t count)
{
    pawl__call_begin(&bulk->calls, &posted->call);
    posted->err = pawl_post_submit(pawl__request_pawl(request), specs, count, pawl__call_answered,
                                   &posted->call, &posted->diag);
    if (posted->err) pawl__call_withdraw(&posted->call);
}

/* ---- what came of it ---- */

static void note_failure(struct bulk *bulk, struct item *item, enum pawl_err err,
                         const struct pawl_diag *diag)
{
    if (pawl_err_status(err) >= 500) {
        bulk->trouble = err;
        bulk->diag = *diag;
    }
    pawl__refuse_err(&item->fault, err, diag);
    item->clash = err == PAWL_ERR_DUPLICATE || err == PAWL_ERR_EXISTS;
    bool stored = bulk->all.call.answer ||
                  item->posted.call.answer; // else another job here has its id
    if (err == PAWL_ERR_EXISTS && stored) item->holder.id = item->envelope.id;
}

static void submit_each(struct pawl__request *request, struct bulk *bulk)
{
    for (size_t i = 0; i < bulk->count; i++) { // all are posted first: they share a few commits
        struct item *item = &bulk->items[i];
        if (!item->fault.kind) post(request, bulk, &item->posted, &item->envelope.spec, 1);
    }
    pawl__calls_wait(&bulk->calls);
    for (size_t i = 0; i < bulk->count; i++) {
        struct item *item = &bulk->items[i];
        struct pawl_answer *answer = item->posted.call.answer;
        if (item->fault.kind) continue;
        if (answer) item->holder = answer->holder;
        if (!answer) {
            note_failure(bulk, item, item->posted.err, &item->posted.diag);
        } else if (answer->err) {
            note_failure(bulk, item, answer->err, &answer->diag);
        } else {
            item->submitted = answer->submitted[0];
            bulk->good++;
        }
        pawl_answer_free(answer);
    }
}

/* The one to blame has its own fault; the others went down with it. */
static void fail_others(struct bulk *bulk)
{
    for (size_t i = 0; i < bulk->count; i++) {
        struct pawl__fault *fault = &bulk->items[i].fault;
        if (fault->kind) continue;
        pawl__refuse(fault, PAWL__FAULT_CONFLICT, "",
                     "not submitted, because another job of the request was refused");
    }
}

static void submit_all(struct pawl__request *request, struct bulk *bulk)
{
    struct posted *all = &bulk->all;
    for (size_t i = 0; i < bulk->count; i++) {
        bulk->specs[i] = bulk->items[i].envelope.spec;
        if (bulk->items[i].fault.kind) {
            fail_others(bulk);
            return;
        }
    }
    post(request, bulk, all, bulk->specs, bulk->count);
    pawl__calls_wait(&bulk->calls);
    struct pawl_answer *answer = all->call.answer;
    enum pawl_err err = answer ? answer->err : all->err;
    assert(err || answer); // what was posted is answered
    size_t bad = answer ? answer->failed_index : pawl__blamed_index(&all->diag);
    if (err) {
        struct item *item = &bulk->items[bad < bulk->count ? bad : 0];
        if (answer) item->holder = answer->holder;
        note_failure(bulk, item, err, answer ? &answer->diag : &all->diag);
        fail_others(bulk);
    }
    for (size_t i = 0; !err && i < bulk->count; i++) {
        bulk->items[i].submitted = answer->submitted[i];
    }
    if (!err) bulk->good = bulk->count;
    pawl_answer_free(answer);
}

/* ---- answering ---- */

static void print_job(struct pawl__request *request, const struct pawl_submitted *submitted)
{
    struct pawl_jobs jobs = { 0 };
    if (pawl_get(pawl__request_pawl(request), submitted->id, &jobs, NULL) == PAWL_OK) {
        pawl__buf_add_text(&request->reply, ",\"job\":");
        pawl__envelope_print(&request->reply, &jobs.at[0], NULL);
    }
    pawl_jobs_release(&jobs);
}

static void print_fault(struct pawl__buf *out, const struct item *item)
{
    const struct pawl__fault *fault = &item->fault;
    pawl__buf_printf(out, ",\"error\":{\"code\":\"%s\",\"message\":",
                     pawl__fault_code(item->clash ? PAWL__FAULT_DUPLICATE : fault->kind));
    pawl__buf_add_json(out, fault->message, strlen(fault->message));
    if (fault->field[0] || item->clash) pawl__buf_add_text(out, ",\"details\":{");
    if (fault->field[0] && !item->clash) {
        pawl__buf_add_text(out, "\"field\":");
        pawl__buf_add_json(out, fault->field, strlen(fault->field));
    }
    if (item->clash) pawl__job_print_holder(out, &item->holder);
    pawl__buf_add_text(out, fault->field[0] || item->clash ? "}}" : "}");
}

static void print_item(struct pawl__request *request, const struct item *item, size_t index)
{
    bool again = !item->fault.kind && item->submitted.deduplicated;
    pawl__buf_printf(&request->reply, "%s{\"index\":%zu,\"status\":\"%s\"", index ? "," : "", index,
                     again || item->clash ? "duplicate"
                     : item->fault.kind   ? "failed"
                                          : "created");
    if (item->fault.kind) {
        print_fault(&request->reply, item);
    } else {
        print_job(request, &item->submitted);
    }
    pawl__buf_add_text(&request->reply, "}");
}

/* {"error":{...}, so that who reads errors alone finds one, too; without the last bracket. */
static void open_refusal(struct pawl__request *request, const struct bulk *bulk)
{
    struct pawl__fault fault;
    pawl__refuse(&fault, PAWL__FAULT_INVALID_REQUEST, "jobs",
                 "none of the %zu jobs was submitted: see items", bulk->count);
    pawl__fault_print(&request->reply, &fault, request->id);
    if (request->reply.len) request->reply.len--;
    pawl__buf_add_text(&request->reply, ",");
}

/* Back on the loop. */
static void finish(struct pawl__request *request)
{
    const struct bulk *bulk = request->state;
    for (size_t i = 0; i < bulk->count; i++) {
        const struct item *item = &bulk->items[i];
        if (!item->fault.kind) pawl__job_put_in_force(request, &item->envelope, item->submitted.id);
    }
    pawl__reply(request, bulk->status);
}

static void answer(struct pawl__request *request, struct bulk *bulk)
{
    struct pawl__buf *out = &request->reply;
    if (bulk->trouble && !bulk->good) {
        pawl__reply_err(request, bulk->trouble, &bulk->diag);
        return;
    }
    if (bulk->good) {
        pawl__buf_add_text(out, "{");
    } else {
        open_refusal(request, bulk);
    }
    pawl__buf_printf(out, "\"total\":%zu,\"succeeded\":%zu,\"failed\":%zu,\"items\":[", bulk->count,
                     bulk->good, bulk->count - bulk->good);
    for (size_t i = 0; i < bulk->count; i++) {
        print_item(request, &bulk->items[i], i);
    }
    pawl__buf_add(out, "]", 1);
    pawl__warnings_print(out, &bulk->warnings);
    pawl__buf_add(out, "}", 1);
    bulk->status = bulk->good == bulk->count ? 201 : bulk->good ? 207 : 422;
    request->state = bulk;
    pawl__request_to_loop(request, finish); // it is done, and is answered even if nobody listens
}

/* ---- the same request again ---- */

struct fingerprint {
    char text[65];
};

static struct fingerprint fingerprint(struct pawl_span of)
{
    struct pawl__sha256 sha;
    struct fingerprint out;
    uint8_t digest[32];
    pawl__sha256_init(&sha);
    pawl__sha256_add(&sha, of.at, of.len);
    pawl__sha256_end(&sha, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        snprintf(out.text + 2 * i, 3, "%02x", digest[i]);
    }
    return out;
}

/* A repeated request must be the same one. False: answered. */
static bool check_key(struct pawl__request *request, const char *key)
{
    struct pawl_diag diag;
    struct fingerprint of_body = fingerprint(request->body);
    char name[KEY_BYTES_MAX + 8];
    snprintf(name, sizeof name, "bulk:%s", key);
    enum pawl_err err =
        pawl_request_note(pawl__request_pawl(request), name, of_body.text, KEPT_MS, &diag);
    if (err == PAWL_ERR_DUPLICATE) {
        pawl__reply_refuse(request, PAWL__FAULT_CONFLICT, "idempotency_key",
                           "this idempotency key was used with another body");
    } else if (err) {
        pawl__reply_err(request, err, &diag);
    }
    return !err;
}

/* False: no memory. */
static bool give_key(struct pawl__request *request, const struct bulk *bulk, size_t index)
{
    char text[KEY_BYTES_MAX + 32];
    struct pawl_job_spec *spec = &bulk->items[index].envelope.spec;
    if (!bulk->key) return true;
    int len = snprintf(text, sizeof text, "bulk:%s:%zu", bulk->key, index);
    spec->idempotency_key = pawl__arena_dup(&request->arena, text, (size_t)len);
    spec->idempotency_ms = KEPT_MS;
    return spec->idempotency_key;
}

/* ---- the request ---- */

/* False: no memory. */
static bool read_jobs(struct pawl__request *request, const struct pawl__json *json, uint32_t jobs,
                      struct bulk *bulk)
{
    struct pawl__envelope_rules rules = pawl__job_rules(request, &bulk->warnings);
    bulk->count = json->tokens[jobs].count;
    bulk->items = pawl__arena_calloc(&request->arena, bulk->count, sizeof *bulk->items);
    bulk->specs = pawl__arena_calloc(&request->arena, bulk->count, sizeof *bulk->specs);
    if (!bulk->items || !bulk->specs) return false;
    uint32_t token = pawl__json_first(jobs);
    for (size_t i = 0; i < bulk->count; i++, token = json->tokens[token].next) {
        struct item *item = &bulk->items[i];
        rules.index = (int64_t)i;
        if (pawl__envelope_read(json, token, &rules, &request->arena, &item->envelope,
                                &item->fault) &&
            !give_key(request, bulk, i)) {
            return false;
        }
    }
    return true;
}

/* atomicity, and the key: the header's, or the body's. False: answered. */
static bool read_options(struct pawl__request *request, const struct pawl__json *json,
                         struct bulk *bulk)
{
    const char *atomicity;
    const char *header = pawl__request_header(request, "idempotency-key");
    if (!pawl__body_text(request, json, 0, "atomicity", &atomicity) ||
        !pawl__body_text(request, json, 0, "idempotency_key", &bulk->key)) {
        return false;
    }
    if (header) bulk->key = header;
    bulk->atomic = atomicity && strcmp(atomicity, "atomic") == 0;
    if (atomicity && !bulk->atomic && strcmp(atomicity, "partial") != 0) {
        return pawl__reply_invalid(request, "atomicity",
                                   "atomicity must be \"partial\" or \"atomic\"");
    }
    if (bulk->key && (!bulk->key[0] || strlen(bulk->key) > KEY_BYTES_MAX)) {
        return pawl__reply_invalid(request, "idempotency_key",
                                   "idempotency_key must have 1 to %d bytes", KEY_BYTES_MAX);
    }
    return true;
}

void pawl__on_bulk_submit(struct pawl__request *request)
{
    struct pawl__json json;
    struct bulk *bulk = pawl__request_state(request, sizeof *bulk);
    if (!bulk) return;
    if (!pawl__request_json(request, false, &json)) return;
    uint32_t jobs = pawl__jobs_array(request, &json);
    if (!jobs || !read_options(request, &json, bulk)) return;
    if (!read_jobs(request, &json, jobs, bulk)) {
        pawl__reply_nomem(request);
        return;
    }
    if (bulk->key && !check_key(request, bulk->key)) return;
    pawl__calls_init(&bulk->calls);
    if (bulk->atomic) {
        submit_all(request, bulk);
    } else {
        submit_each(request, bulk);
    }
    pawl__calls_release(&bulk->calls);
    answer(request, bulk);
}
