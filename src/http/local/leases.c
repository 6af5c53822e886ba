/* Claims made through this server.
 *
 * 1. An entry is in the table and in the list, oldest first; beyond CLAIMS_MAX the oldest goes.
 * 2. Copies of jobs are kept so that an ack can be answered without asking the store, as long as
 *    they are small and few enough.
 * 3. The marks remember which jobs got a checkpoint before they first ran. When there are too many
 *    to remember, every job may have one. */
#include "http/local/leases.h"

#include "fields/fields.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLAIMS_MAX = 200000,
    MARKS_MAX = 100000,
    JOB_BYTES_MAX = 8192,
    JOBS_BYTES_MAX = 64 * 1024 * 1024
};

struct mark {
    struct pawl__link link; /* first */
    struct pawl_job_id id;
};

struct pawl__claims {
    struct pawl__table table;
    struct pawl__claim *oldest, *newest;
    size_t job_bytes;
    struct pawl__table marks;
    bool marks_lost;
};

bool pawl__worker_is_named(const char *worker)
{
    return strncmp(worker, PAWL__ANONYMOUS, sizeof PAWL__ANONYMOUS - 1) != 0;
}

/* The tail of an id is random. */
static uint64_t hash_of(struct pawl_job_id id)
{
    uint64_t hash;
    memcpy(&hash, id.b + 8, sizeof hash);
    return hash ^ hash >> 32;
}

static bool same(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(a.b, b.b, sizeof a.b) == 0;
}

/* ---- copies of jobs: one block, the strings behind the struct ---- */

static const char *put(char **to, const char *at, size_t len)
{
    char *start = *to;
    if (len) memcpy(start, at, len);
    *to += len;
    return start;
}

static size_t bytes_of(const struct pawl_job *job)
{
    return sizeof *job + pawl__job_text_bytes(job);
}

static struct pawl_job *copy_job(const struct pawl_job *job, size_t bytes)
{
    struct pawl_job *copy = malloc(bytes);
    if (copy) *copy = pawl__job_copy(job, (char *)(copy + 1));
    return copy;
}

static void forget_job(struct pawl__claims *claims, struct pawl__claim *claim)
{
    if (!claim->job) return;
    claims->job_bytes -= bytes_of(claim->job);
    free(claim->job);
    claim->job = NULL;
}

struct pawl_job *pawl__claim_take_job(struct pawl__claims *claims, struct pawl__claim *claim)
{
    struct pawl_job *job = claim->job;
    if (job) claims->job_bytes -= bytes_of(job);
    claim->job = NULL;
    return job;
}

static void keep_job(struct pawl__claims *claims, struct pawl__claim *claim,
                     const struct pawl_job *job)
{
    size_t bytes = bytes_of(job);
    if (bytes > JOB_BYTES_MAX || claims->job_bytes + bytes > JOBS_BYTES_MAX) return;
    claim->job = copy_job(job, bytes);
    if (claim->job) claims->job_bytes += bytes;
}

/* ---- entries ---- */

struct pawl__claims *pawl__claims_new(void)
{
    return calloc(1, sizeof(struct pawl__claims));
}

static void drop(struct pawl__claims *claims, struct pawl__claim *claim)
{
    *(claim->older ? &claim->older->newer : &claims->oldest) = claim->newer;
    *(claim->newer ? &claim->newer->older : &claims->newest) = claim->older;
    pawl__table_remove(&claims->table, &claim->link);
    forget_job(claims, claim);
    free(claim);
}

void pawl__claims_clear(struct pawl__claims *claims)
{
    while (claims->oldest) {
        drop(claims, claims->oldest);
    }
    assert(!claims->job_bytes);
    for (size_t i = 0; i < claims->marks.cap; i++) {
        struct pawl__link *next;
        for (struct pawl__link *link = claims->marks.slots[i]; link; link = next) {
            next = link->next;
            free((struct mark *)link);
        }
    }
    pawl__table_release(&claims->marks);
    claims->marks_lost = false;
}

void pawl__claims_free(struct pawl__claims *claims)
{
    if (!claims) return;
    pawl__claims_clear(claims);
    pawl__table_release(&claims->table);
    free(claims);
}

struct pawl__claim *pawl__claims_find(const struct pawl__claims *claims, struct pawl_job_id id)
{
    struct pawl__link *link = pawl__table_first(&claims->table, hash_of(id));
    for (; link; link = pawl__table_next(link)) {
        struct pawl__claim *claim = (struct pawl__claim *)link;
        if (same(claim->id, id)) return claim;
    }
    return NULL;
}

struct pawl__claim *pawl__claims_next(const struct pawl__claims *claims,
                                      const struct pawl__claim *after)
{
    return after ? after->newer : claims->oldest;
}

static struct pawl__claim *new_claim(const struct pawl_job *job)
{
    size_t queue_len = strlen(job->queue) + 1, worker_len = strlen(job->worker) + 1;
    struct pawl__claim *claim = malloc(sizeof *claim + queue_len + worker_len);
    if (!claim) return NULL;
    char *to = (char *)(claim + 1);
    *claim = (struct pawl__claim){ .id = job->id,
                                   .run = job->run,
                                   .attempt = job->attempt,
                                   .lease_until_ms = job->lease_until_ms,
                                   .named = pawl__worker_is_named(job->worker) };
    claim->queue = put(&to, job->queue, queue_len);
    claim->worker = put(&to, job->worker, worker_len);
    return claim;
}

void pawl__claims_put(struct pawl__claims *claims, const struct pawl_job *job, int64_t lease_ms)
{
    struct pawl__claim *before = pawl__claims_find(claims, job->id);
    if (before) drop(claims, before);
    if (claims->table.count == CLAIMS_MAX) drop(claims, claims->oldest);
    struct pawl__claim *claim = new_claim(job);
    if (!claim) return;
    claim->lease_ms = job->lease_ms ? job->lease_ms : lease_ms;
    if (!pawl__table_add(&claims->table, &claim->link, hash_of(job->id))) {
        free(claim);
        return;
    }
    claim->older = claims->newest;
    *(claim->older ? &claim->older->newer : &claims->oldest) = claim;
    claims->newest = claim;
    keep_job(claims, claim, job);
}

void pawl__claims_drop(struct pawl__claims *claims, struct pawl_job_id id, int64_t run)
{
    struct pawl__claim *claim = pawl__claims_find(claims, id);
    if (claim && claim->run == run) drop(claims, claim);
}

/* ---- marks ---- */

static struct mark *find_mark(const struct pawl__claims *claims, struct pawl_job_id id)
{
    struct pawl__link *link = pawl__table_first(&claims->marks, hash_of(id));
    for (; link; link = pawl__table_next(link)) {
        struct mark *mark = (struct mark *)link;
        if (same(mark->id, id)) return mark;
    }
    return NULL;
}

static void unmark(struct pawl__claims *claims, struct pawl_job_id id)
{
    struct mark *mark = claims->marks.count ? find_mark(claims, id) : NULL;
    if (!mark) return;
    pawl__table_remove(&claims->marks, &mark->link);
    free(mark);
}

void pawl__claims_moved(struct pawl__server *server, const struct pawl_moved *moved)
{
    if (moved->from == PAWL_STATE_ACTIVE && moved->to != PAWL_STATE_ACTIVE) {
        pawl__claims_drop(server->claims, moved->id, moved->run);
    }
    if (pawl_state_is_terminal(moved->to)) unmark(server->claims, moved->id);
}

void pawl__claims_mark(struct pawl__claims *claims, struct pawl_job_id id)
{
    if (claims->marks_lost || find_mark(claims, id)) return;
    struct mark *mark = claims->marks.count < MARKS_MAX ? malloc(sizeof *mark) : NULL;
    if (mark) mark->id = id;
    if (!mark || !pawl__table_add(&claims->marks, &mark->link, hash_of(id))) {
        free(mark);
        claims->marks_lost = true;
    }
}

bool pawl__claims_has_past(const struct pawl__claims *claims, const struct pawl_job *job)
{
    return job->run > 1 || claims->marks_lost || find_mark(claims, job->id);
}
