/* POST /ojs/v1/jobs/bulk: submits many jobs, each by itself, or all or none. On the pool.
 *
 * If the request has an idempotency key, each job gets a key made from it, so that the store
 * returns the same jobs to a repeated request. A fingerprint of the body is kept for a day: another
 * body under the same key is refused. */
#include "base/sha256.h"
#include "http/ojs/ojs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES_MAX = 128, KEPT_MS = 86400000 };

/* A posted call and its outcome. */
struct posted {
    struct pawl__call call; /* first; no answer: `err` says why it was not posted */
    enum pawl_err err;
    struct pawl_diag diag;
};

/* One job of the request. */
struct item {
    struct pawl__envelope envelope;
    struct pawl__fault fault; /* why it was not submitted; kind NONE: it was */
    struct pawl_submitted submitted, holder;
    bool clash; /* with `holder` */
    struct posted posted;
};

struct bulk {
    struct item *items;
    struct pawl_job_spec *specs;
    size_t count, good;
    const char *key; /* NULL: none */
    uint32_t atomicity;
    int status;
    enum pawl_err trouble; /* of the store, which no job is to blame for */
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

/* ---- outcomes ---- */

static void note_failure(struct bulk *bulk, struct item *item, enum pawl_err err,
                         const struct pawl_diag *diag)
{
    if (pawl_err_status(err) >= 500) {
        bulk->trouble = err;
        bulk->diag = *diag;
    }
    pawl__refuse_err(&item->fault, err, diag);
    item->clash = err == PAWL_ERR_DUPLICATE || err == PAWL_ERR_EXISTS;
    // Without an answer, another job of this request has its id.
    bool stored = bulk->all.call.answer || item->posted.call.answer;
    if (err == PAWL_ERR_EXISTS && stored) item->holder.id = item->envelope.id;
}

static void submit_each(struct pawl__request *request, struct bulk *bulk)
{
    for (size_t i = 0; i < bulk->count; i++) { // all before waiting, so that they share commits
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

/* The job to blame has a fault already. */
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

enum status { STATUS_CREATED = 1, STATUS_DUPLICATE, STATUS_FAILED };
static const char *const status_texts[] = { NULL, "created", "duplicate", "failed" };
static const struct pawl__words status_words = { .at = status_texts, .count = 4 };

struct told {
    int64_t index;
    enum status status;
    struct {
        const char *code, *message, *field;
        const struct pawl_submitted *holder; /* NULL: none is in the way */
    } error;
    struct pawl__shown job;
};

static void print_details(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    const struct told *told = base;
    if (told->error.holder) {
        pawl__shape_print(writer, &pawl__holder_shape, told->error.holder);
    } else if (told->error.field && *told->error.field) {
        PAWL__PRINT(writer, PAWL__HERE_TEXT("field", told->error.field));
    }
}

#define S struct told
static const struct pawl__member error_members[] = {
    PAWL__MEMBER("code", TEXT, S, error.code),
    PAWL__MEMBER("message", TEXT, S, error.message),
    PAWL__WHOLE("details", OWN, .print = print_details, .wire = PAWL__AS_OBJECT),
};
static const struct pawl__shape error_shape = PAWL__SHAPE(S, error_members);
static const struct pawl__member item_members[] = {
    PAWL__MEMBER("index", INT64, S, index, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("status", WORD, S, status, .words = &status_words, .flags = PAWL__ALWAYS),
    PAWL__WHOLE("error", ONE, .shape = &error_shape),
    PAWL__SHOWN("job", S, job),
};
static const struct pawl__shape item_shape = PAWL__SHAPE(S, item_members);
#undef S

static void print_item(struct pawl__request *request, const struct item *item, size_t index)
{
    const struct pawl__fault *fault = &item->fault;
    const struct pawl__shape_writer writer = { .out = &request->reply };
    struct pawl_jobs jobs = { 0 };
    struct told told = { .index = (int64_t)index, .status = STATUS_CREATED };
    if (fault->kind) {
        told.status = item->clash ? STATUS_DUPLICATE : STATUS_FAILED;
        told.error.code = pawl__fault_code(item->clash ? PAWL__FAULT_DUPLICATE : fault->kind);
        told.error.message = fault->message;
        told.error.field = fault->field;
        told.error.holder = item->clash ? &item->holder : NULL;
    } else {
        if (item->submitted.deduplicated) told.status = STATUS_DUPLICATE;
        if (!pawl_get(pawl__request_pawl(request), item->submitted.id, &jobs, NULL))
            told.job.job = &jobs.at[0];
    }
    pawl__shape_print(&writer, &item_shape, &told);
    pawl_jobs_release(&jobs);
}

static void print_items(struct pawl__request *request, const void *ctx)
{
    const struct bulk *bulk = ctx;
    for (size_t i = 0; i < bulk->count; i++) {
        if (i) pawl__buf_add(&request->reply, ",", 1);
        print_item(request, &bulk->items[i], i);
    }
}

struct reply {
    int64_t total, succeeded, failed;
    struct pawl__printed items;
    const struct pawl__warnings *warnings;
};

#define S struct reply
static const struct pawl__member reply_members[] = {
    PAWL__MEMBER("total", INT64, S, total, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("succeeded", INT64, S, succeeded, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("failed", INT64, S, failed, .flags = PAWL__ALWAYS),
    PAWL__PRINTED("items", S, items, &item_shape),
    PAWL__WARNINGS(S, warnings),
};
const struct pawl__shape pawl__ojs_bulk_submit_reply_shape = PAWL__SHAPE(S, reply_members);
#undef S

/* Without a good job the reply is an error, too, for clients that read nothing else. */
static void print_reply(struct pawl__request *request, const struct bulk *bulk)
{
    struct pawl__buf *out = &request->reply;
    struct pawl__fault fault;
    bool any = !bulk->good;
    const struct reply reply = { .total = (int64_t)bulk->count,
                                 .succeeded = (int64_t)bulk->good,
                                 .failed = (int64_t)(bulk->count - bulk->good),
                                 .items = { print_items, request, bulk },
                                 .warnings = &bulk->warnings };
    if (bulk->good) {
        pawl__buf_add(out, "{", 1);
    } else {
        pawl__refuse(&fault, PAWL__FAULT_INVALID_REQUEST, "jobs",
                     "none of the %zu jobs was submitted: see items", bulk->count);
        pawl__fault_print(out, &fault, request->id);
        if (out->len) out->len--; // the closing brace
    }
    pawl__shape_print_members(&(struct pawl__shape_writer){ .out = out },
                              &pawl__ojs_bulk_submit_reply_shape, &reply, &any);
    pawl__buf_add(out, "}", 1);
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
    if (bulk->trouble && !bulk->good) {
        pawl__reply_err(request, bulk->trouble, &bulk->diag);
        return;
    }
    print_reply(request, bulk);
    bulk->status = bulk->good == bulk->count ? 201 : bulk->good ? 207 : 422;
    request->state = bulk;
    pawl__request_to_loop(request, finish); // also if the client is gone: the jobs are submitted
}

/* ---- repeated requests ---- */

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

/* A repeat must have the same body. False: answered. */
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

enum atomicity { ATOMICITY_PARTIAL, ATOMICITY_ATOMIC, ATOMICITY_END };
static const char *const atomicity_texts[] = { "partial", "atomic" };
static const struct pawl__words atomicity_words = { .at = atomicity_texts, .count = ATOMICITY_END };

#define S struct bulk
static const struct pawl__member request_members[] = {
    PAWL__MEMBER("atomicity", WORD, S, atomicity, .words = &atomicity_words),
    PAWL__MEMBER("idempotency_key", TEXT, S, key, .min = 1, .max = KEY_BYTES_MAX),
    PAWL__JOBS_MEMBER,
};
const struct pawl__shape pawl__ojs_bulk_submit_request_shape = PAWL__SHAPE(S, request_members);
#undef S

/* The header wins over the body's key. False: answered. */
static bool choose_key(struct pawl__request *request, struct bulk *bulk)
{
    const char *header = pawl__request_header(request, "idempotency-key");
    if (!header) return true;
    bulk->key = header;
    if (header[0] && strlen(header) <= KEY_BYTES_MAX) return true;
    return pawl__reply_invalid(request, "idempotency_key",
                               "\"idempotency_key\" must have 1 to %d bytes", KEY_BYTES_MAX);
}

void pawl__on_bulk_submit(struct pawl__request *request)
{
    struct pawl__json json;
    struct bulk *bulk = pawl__request_state(request, sizeof *bulk);
    if (!bulk) return;
    if (!pawl__request_json(request, false, &json)) return;
    uint32_t jobs = pawl__jobs_array(request, &json);
    if (!jobs ||
        !pawl__object_read(request, &json, 0, &pawl__ojs_bulk_submit_request_shape, NULL, bulk) ||
        !choose_key(request, bulk)) {
        return;
    }
    if (!read_jobs(request, &json, jobs, bulk)) {
        pawl__reply_nomem(request);
        return;
    }
    if (bulk->key && !check_key(request, bulk->key)) return;
    pawl__calls_init(&bulk->calls);
    if (bulk->atomicity == ATOMICITY_ATOMIC) {
        submit_all(request, bulk);
    } else {
        submit_each(request, bulk);
    }
    pawl__calls_release(&bulk->calls);
    answer(request, bulk);
}
