/* Chains of jobs, each watching the one before it. */
#ifndef TESTS_SETTLE_KIT_H
#define TESTS_SETTLE_KIT_H

#include "settle/watch.h"
#include "support/ops.h"

#include <semaphore.h>

enum { TIE_FAILED = 1 << 0, TIE_PUT_OFF = 1 << 1 }; /* see core/settle.h */
enum {                                              /* see ties.h */
       TIE_WATCH = 1 << 24,
       TIE_ECHO = 1 << 25,
       TIE_DOUBT = 1 << 26,
       TIE_GRAFT = 1 << 27,
       TIE_JOIN = 1 << 28,
       TIE_BREAK = 1 << 29
};

/* The first is available, the others are pending. Ids follow each other. */
static inline struct pawl_job_id *chain_of(struct rig *rig, size_t count, int32_t ties,
                                           const struct pawl_job_spec *spec)
{
    struct pawl_job_id *ids = pawl__arena_calloc(&rig->arena, count, sizeof *ids);
    struct pawl__new_job *jobs = pawl__arena_calloc(&rig->arena, count, sizeof *jobs);
    struct pawl_submitted *out = pawl__arena_calloc(&rig->arena, count, sizeof *out);
    assert_true(ids && jobs && out);
    for (size_t i = 0; i < count; i++) {
        struct pawl_job_spec with = *spec;
        with.pending = i > 0;
        jobs[i] = job_new(rig, &with);
        ids[i] = jobs[i].id = i ? watch_next(ids[i - 1]) : jobs[i].id;
        jobs[i].ties = ties;
    }
    assert_ok(rig, submit_jobs(rig, jobs, count, out, NULL));
    return ids;
}

static inline struct pawl_job_id *chain(struct rig *rig, size_t count, int32_t ties)
{
    return chain_of(rig, count, ties, &(struct pawl_job_spec){ .priority = 0 });
}

static inline struct swept settle(struct rig *rig)
{
    return sweep(rig, PAWL__OP_SETTLE, 100);
}

static inline void op_done(struct pawl__op *op)
{
    sem_post(op->user);
}

/* In one list, hence in one transaction. */
static inline void post_together(struct rig *rig, struct pawl__op *ops, size_t count)
{
    sem_t done;
    assert_int_equal(0, sem_init(&done, 0, 0));
    for (size_t i = 0; i < count; i++) {
        ops[i].done = op_done;
        ops[i].user = &done;
        ops[i].next = i + 1 < count ? &ops[i + 1] : NULL;
    }
    pawl__store_post_list(rig->store, ops);
    for (size_t i = 0; i < count; i++) {
        sem_wait(&done);
    }
    sem_destroy(&done);
    for (size_t i = 0; i < count; i++) {
        rig_keep(rig, &ops[i].arena);
    }
}

/* All succeed. */
static inline void do_together(struct rig *rig, struct pawl__op *ops, size_t count)
{
    post_together(rig, ops, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(PAWL_OK, ops[i].err);
    }
}

#endif
