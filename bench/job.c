/* Jobs and stores as the measurements use them: the payload, bulk submits, sizes of files. */
#include "bench.h"

#include "base/clock.h"
#include "base/rng.h"

#include <assert.h>
#include <sys/stat.h>

enum { BULK_JOBS = 1000, BULK_AHEAD = 3, QUEUES_MAX = 32 };

/* The digits are replaced, so that rows differ and caching has no effect. */
#define PAYLOAD_FORM                                                                               \
    "[{\"to\":\"0000000000000000@example.org\",\"subject\":\"your order 7\",\"text\":"             \
    "\"it has been shipped, today\"}]"
_Static_assert(sizeof PAYLOAD_FORM == PAWL__BENCH_PAYLOAD_BYTES + 1, "as long as it says");

void pawl__payload(uint64_t n, char out[PAWL__BENCH_PAYLOAD_BYTES])
{
    memcpy(out, PAYLOAD_FORM, PAWL__BENCH_PAYLOAD_BYTES);
    for (int i = 0; i < 16; i++) {
        out[8 + i] = "0123456789abcdef"[n >> (60 - 4 * i) & 15];
    }
}

void pawl__bench_job_init(struct pawl__bench_job *job)
{
    *job = (struct pawl__bench_job){ .spec = { .type = "mail.send", .queue = "default" } };
    job->spec.args = (struct pawl_span){ job->args, sizeof job->args };
    pawl__retry_resolve(&job->spec.retry);
    job->job.spec = &job->spec;
}

struct pawl__store *pawl__bench_open(const struct pawl__bench *bench, const char *name)
{
    const struct pawl__url url = pawl__bench_url(bench, name);
    struct pawl__store *store = NULL;
    struct pawl_diag diag = { 0 };
    const struct pawl_config config = {
        .store = url.text, .busy_timeout_ms = 30000, .clock = &pawl__clock_system, .seed = 1
    };
    if (pawl__store_open(&config, &store, &diag)) {
        pawl__bench_die("could not open \"%s\": %s", url.text, diag.text);
    }
    return store;
}

void pawl__bench_check(const struct pawl__op *op)
{
    if (op->err) {
        pawl__bench_die("an operation of kind %d failed: %s", (int)op->kind,
                        pawl_err_text(op->err));
    }
}

static int64_t file_bytes(const char *path)
{
    struct stat info;
    return stat(path, &info) ? 0 : (int64_t)info.st_size;
}

int64_t pawl__bench_bytes(const struct pawl__bench *bench, const char *name)
{
    char path[PAWL__BENCH_PATH_BYTES], wal[PAWL__BENCH_PATH_BYTES + 4];
    pawl__bench_path(bench, name, path);
    snprintf(wal, sizeof wal, "%s-wal", path);
    return file_bytes(path) + file_bytes(wal);
}

/* One operation of a bulk submit, with all it points to. */
struct load {
    struct pawl__op op;
    struct bulk_state *state;
    struct pawl_job_id ids[BULK_JOBS];
    struct pawl__new_job jobs[BULK_JOBS];
    struct pawl__bench_job parts[BULK_JOBS];
    struct pawl_submitted out[BULK_JOBS];
    bool busy; /* guarded by the state's mutex */
};

struct bulk_state {
    struct pawl__mutex mutex;
    struct pawl__cond cond;
    struct load *loads;
};

static void load_done(struct pawl__op *op)
{
    struct load *load = op->user;
    pawl__lock(&load->state->mutex);
    load->busy = false;
    pawl__cond_signal(&load->state->cond); // under the mutex: the waiter may free it after
    pawl__unlock(&load->state->mutex);
}

const char *pawl__bulk_queue(int n)
{
    static const char *const names[QUEUES_MAX] = {
        "q00", "q01", "q02", "q03", "q04", "q05", "q06", "q07", "q08", "q09", "q10",
        "q11", "q12", "q13", "q14", "q15", "q16", "q17", "q18", "q19", "q20", "q21",
        "q22", "q23", "q24", "q25", "q26", "q27", "q28", "q29", "q30", "q31",
    };
    assert(n >= 0 && n < QUEUES_MAX);
    return names[n];
}

static void load_fill(struct load *load, struct pawl__bench *bench, const struct pawl__bulk *bulk,
                      struct pawl__rng *rng, int64_t from, int count)
{
    pawl__idgen_take(&bench->ids, load->ids, (size_t)count);
    for (int i = 0; i < count; i++) {
        struct pawl__bench_job *part = &load->parts[i];
        pawl__payload((uint64_t)(from + i), part->args);
        if (bulk->queues > 1) part->spec.queue = pawl__bulk_queue((int)((from + i) % bulk->queues));
        if (bulk->priorities > 1) {
            part->spec.priority = (int32_t)pawl__rng_below(rng, (uint64_t)bulk->priorities);
        }
        load->jobs[i] = part->job;
        load->jobs[i].id = load->ids[i];
        load->jobs[i].fresh_id = true;
    }
    load->op.submit.count = (size_t)count;
}

static void load_wait(struct load *load)
{
    pawl__lock(&load->state->mutex);
    while (load->busy) {
        pawl__cond_wait(&load->state->cond, &load->state->mutex);
    }
    load->busy = true;
    pawl__unlock(&load->state->mutex);
    pawl__bench_check(&load->op);
    pawl__arena_reset(&load->op.arena);
}

static void load_init(struct load *load, struct bulk_state *state)
{
    load->state = state;
    load->op = (struct pawl__op){ .kind = PAWL__OP_SUBMIT, .done = load_done, .user = load };
    load->op.submit.jobs = load->jobs;
    load->op.submit.out = load->out;
    for (int i = 0; i < BULK_JOBS; i++) {
        pawl__bench_job_init(&load->parts[i]);
    }
}

void pawl__bulk_submit(struct pawl__bench *bench, struct pawl__store *store,
                       const struct pawl__bulk *bulk)
{
    struct bulk_state state = { .loads = pawl__bench_calloc(BULK_AHEAD, sizeof *state.loads) };
    struct pawl__rng rng;
    pawl__rng_seed(&rng, (uint64_t)bulk->jobs);
    pawl__mutex_init(&state.mutex);
    pawl__cond_init(&state.cond);
    for (int i = 0; i < BULK_AHEAD; i++) {
        load_init(&state.loads[i], &state);
    }
    for (int64_t from = 0; from < bulk->jobs; from += BULK_JOBS) {
        struct load *load = &state.loads[from / BULK_JOBS % BULK_AHEAD];
        const int64_t left = bulk->jobs - from;
        load_wait(load);
        load_fill(load, bench, bulk, &rng, from, (int)(left < BULK_JOBS ? left : BULK_JOBS));
        pawl__store_post(store, &load->op);
    }
    for (int i = 0; i < BULK_AHEAD; i++) {
        load_wait(&state.loads[i]);
        pawl__arena_release(&state.loads[i].op.arena);
    }
    pawl__cond_release(&state.cond);
    pawl__mutex_release(&state.mutex);
    free(state.loads);
}
