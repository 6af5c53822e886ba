/* A job's fields as stores write them. The list itself is in src/fields; what reads and writes a
 * field in a database is in a backend's columns.c.
 *
 * Pure; any thread. */
#ifndef PAWL_STORE_CORE_FIELDS_H
#define PAWL_STORE_CORE_FIELDS_H

#include "fields/fields.h"
#include "store/store.h"

/* What the store decides about a new job: see pawl__settle. */
struct pawl__settled {
    int64_t created_at_ms;
    int64_t due_at_ms;
    int64_t expires_at_ms; /* 0: never */
    int64_t rank;
    enum pawl_state state;
};

/* Where a new job's value is. */
enum pawl__origin {
    PAWL__ORIGIN_SPEC,   /* struct pawl_job_spec */
    PAWL__ORIGIN_TEXTS,  /* struct pawl__new_job */
    PAWL__ORIGIN_SETTLED /* struct pawl__settled */
};

struct pawl__new_field {
    enum pawl__kind kind;
    enum pawl__origin origin;
    size_t offset;
};

/* PAWL__JOB_FACTS, in that order. */
extern const struct pawl__new_field pawl__new_facts[PAWL__JOB_FACTS_COUNT];

static inline const void *pawl__new_value(const struct pawl__new_field *field,
                                          const struct pawl__new_job *job,
                                          const struct pawl__settled *settled)
{
    const void *base = field->origin == PAWL__ORIGIN_SPEC    ? (const void *)job->spec
                       : field->origin == PAWL__ORIGIN_TEXTS ? (const void *)job
                                                             : (const void *)settled;
    return (const char *)base + field->offset;
}

/* Has a new job any of PAWL__JOB_EXTRAS, or keys? */
bool pawl__new_has_extras(const struct pawl__new_job *job, const struct pawl__settled *settled);

#endif
