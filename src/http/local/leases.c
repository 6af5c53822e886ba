/* Leases that this server gave out.
 *
 * 1. An entry is in the table and in the list, oldest first; beyond CLAIMS_MAX the oldest goes.
 * 2. Copies of jobs are kept so that an ack can be answered without asking the store, as long as
 *    they are small and few enough.
 * 3. The marks remember which jobs got a checkpoint before they first ran. When there are too many
 *    to remember, every job may have one. */
#include "http/local/leases.h"
#include "base/list.h"

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
    struct pawl__hash_link link; /* first */
    struct pawl_job_id id;
};

struct pawl__leases {
    struct pawl__hashtable table;
    struct pawl__lease *oldest, *newest;
    size_t job_bytes;
    struct pawl__hashtable marks;
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

static void forget_job(struct pawl__leases *leases, struct pawl__lease *lease)
{
    if (!lease->job) return;
    leases->job_bytes -= bytes_of(lease->job);
    free(lease->job);
    lease->job = NULL;
}

struct pawl_job *pawl__lease_take_job(struct pawl__leases *leases, struct pawl__lease *lease)
{
    struct pawl_job *job = lease->job;
    if (job) leases->job_bytes -= bytes_of(job);
    lease->job = NULL;
    return job;
}

static void keep_job(struct pawl__leases *leases, struct pawl__lease *lease,
                     const struct pawl_job *job)
{
    size_t bytes = bytes_of(job);
    if (bytes > JOB_BYTES_MAX || leases->job_bytes + bytes > JOBS_BYTES_MAX) return;
    lease->job = copy_job(job, bytes);
    if (lease->job) leases->job_bytes += bytes;
}

/* ---- entries ---- */

struct pawl__leases *pawl__leases_new(void)
{
    return calloc(1, sizeof(struct pawl__leases));
}

static void drop(struct pawl__leases *leases, struct pawl__lease *lease)
{
    PAWL__QUEUE_REMOVE(leases->oldest, leases->newest, lease, older, newer);
    pawl__hashtable_remove(&leases->table, &lease->link);
    forget_job(leases, lease);
    free(lease);
}

void pawl__leases_clear(struct pawl__leases *leases)
{
    while (leases->oldest) {
        drop(leases, leases->oldest);
    }
    assert(!leases->job_bytes);
    for (size_t i = 0; i < leases->marks.cap; i++) {
        struct pawl__hash_link *next;
        for (struct pawl__hash_link *link = leases->marks.slots[i]; link; link = next) {
            next = link->next;
            free((struct mark *)link);
        }
    }
    pawl__hashtable_release(&leases->marks);
    leases->marks_lost = false;
}

void pawl__leases_free(struct pawl__leases *leases)
{
    if (!leases) return;
    pawl__leases_clear(leases);
    pawl__hashtable_release(&leases->table);
    free(leases);
}

struct pawl__lease *pawl__leases_find(const struct pawl__leases *leases, struct pawl_job_id id)
{
    struct pawl__hash_link *link = pawl__hashtable_first(&leases->table, hash_of(id));
    for (; link; link = pawl__hashtable_next(link)) {
        struct pawl__lease *lease = (struct pawl__lease *)link;
        if (same(lease->id, id)) return lease;
    }
    return NULL;
}

struct pawl__lease *pawl__leases_next(const struct pawl__leases *leases,
                                      const struct pawl__lease *after)
{
    return after ? after->newer : leases->oldest;
}

static struct pawl__lease *new_lease(const struct pawl_job *job)
{
    size_t queue_len = strlen(job->queue) + 1, worker_len = strlen(job->worker) + 1;
    struct pawl__lease *lease = malloc(sizeof *lease + queue_len + worker_len);
    if (!lease) return NULL;
    char *to = (char *)(lease + 1);
    *lease = (struct pawl__lease){ .id = job->id,
                                   .run = job->run,
                                   .attempt = job->attempt,
                                   .lease_until_ms = job->lease_until_ms,
                                   .named = pawl__worker_is_named(job->worker) };
    lease->queue = put(&to, job->queue, queue_len);
    lease->worker = put(&to, job->worker, worker_len);
    return lease;
}

void pawl__leases_put(struct pawl__leases *leases, const struct pawl_job *job, int64_t lease_ms)
{
    struct pawl__lease *before = pawl__leases_find(leases, job->id);
    if (before) drop(leases, before);
    if (leases->table.count == CLAIMS_MAX) drop(leases, leases->oldest);
    struct pawl__lease *lease = new_lease(job);
    if (!lease) return;
    lease->lease_ms = job->lease_ms ? job->lease_ms : lease_ms;
    if (!pawl__hashtable_add(&leases->table, &lease->link, hash_of(job->id))) {
        free(lease);
        return;
    }
    PAWL__QUEUE_ADD(leases->oldest, leases->newest, lease, older, newer);
    keep_job(leases, lease, job);
}

void pawl__leases_drop(struct pawl__leases *leases, struct pawl_job_id id, int64_t run)
{
    struct pawl__lease *lease = pawl__leases_find(leases, id);
    if (lease && lease->run == run) drop(leases, lease);
}

/* ---- marks ---- */

static struct mark *find_mark(const struct pawl__leases *leases, struct pawl_job_id id)
{
    struct pawl__hash_link *link = pawl__hashtable_first(&leases->marks, hash_of(id));
    for (; link; link = pawl__hashtable_next(link)) {
        struct mark *mark = (struct mark *)link;
        if (same(mark->id, id)) return mark;
    }
    return NULL;
}

static void unmark(struct pawl__leases *leases, struct pawl_job_id id)
{
    struct mark *mark = leases->marks.count ? find_mark(leases, id) : NULL;
    if (!mark) return;
    pawl__hashtable_remove(&leases->marks, &mark->link);
    free(mark);
}

void pawl__leases_moved(struct pawl__server *server, const struct pawl_moved *moved)
{
    if (moved->from == PAWL_STATE_ACTIVE && moved->to != PAWL_STATE_ACTIVE) {
        pawl__leases_drop(server->leases, moved->id, moved->run);
    }
    if (pawl_state_is_terminal(moved->to)) unmark(server->leases, moved->id);
}

void pawl__leases_mark(struct pawl__leases *leases, struct pawl_job_id id)
{
    if (leases->marks_lost || find_mark(leases, id)) return;
    struct mark *mark = leases->marks.count < MARKS_MAX ? malloc(sizeof *mark) : NULL;
    if (mark) mark->id = id;
    if (!mark || !pawl__hashtable_add(&leases->marks, &mark->link, hash_of(id))) {
        free(mark);
        leases->marks_lost = true;
    }
}

bool pawl__leases_has_past(const struct pawl__leases *leases, const struct pawl_job *job)
{
    return job->run > 1 || leases->marks_lost || find_mark(leases, job->id);
}
