/* Statements that are written as they are needed: a filter becomes WHERE terms from a fixed list,
 * and values are always bound. What differs between databases is a table of texts and two
 * functions, the dialect; sending the statement is the backend's.
 *
 * Threads: any; a draft belongs to its caller. */
#ifndef PAWL_STORE_SQL_FILTER_H
#define PAWL_STORE_SQL_FILTER_H

#include "base/buf.h"
#include "store/page.h"

enum { PAWL__DRAFT_VALUES_MAX = PAWL__FILTER_NAMES_MAX + 32 };

struct pawl__draft;

/* The jobs of a filter are `j`, live or archived, their queue is `q`. A text marks the place of
 * each value with "?". */
struct pawl__dialect {
    char mark;        /* of a parameter, before its number: '?' or '$' */
    const char *type; /* the column with a job's type */
    const char *type_begins;
    const char *tagged; /* up to the list of tags, which is followed by one more ")" */
    const char *meta;   /* name, value */
    struct pawl__dialect_columns {
        const char *worker, *finished_at_ms, *dead_letter;
    } live, archive;
    /* Terms for a job in one of `states`, which are some, and for an id in a range. */
    void (*states)(struct pawl__draft *draft, uint32_t states);
    void (*ids)(struct pawl__draft *draft, struct pawl_job_id low, struct pawl_job_id high);
};

struct pawl__value {
    enum pawl__value_kind {
        PAWL__VALUE_NUMBER,
        PAWL__VALUE_TEXT,
        PAWL__VALUE_ID,
        PAWL__VALUE_JOB /* the id of a job; what is kept with one may go by another key */
    } kind;
    union {
        int64_t number;
        struct pawl_span text; /* borrowed */
        struct pawl_job_id id;
    };
};

/* A statement under construction. Begin with pawl__draft_init. */
struct pawl__draft {
    const struct pawl__dialect *dialect;
    bool archive; /* `j` is the archive */
    bool flag;    /* the dialect's own, for its functions */
    bool has_where;
    struct pawl__buf sql; /* `failed` is for the backend to look at */
    size_t marks;         /* parameters in `sql` so far */
    size_t count;
    struct pawl__value values[PAWL__DRAFT_VALUES_MAX];
};

void pawl__draft_init(struct pawl__draft *draft, const struct pawl__dialect *dialect);
void pawl__draft_release(struct pawl__draft *draft);
/* One more text as it is; one whose "?" are parameters; the same as a further term of WHERE. */
void pawl__draft_text(struct pawl__draft *draft, const char *text);
void pawl__draft_add(struct pawl__draft *draft, const char *text);
void pawl__draft_term(struct pawl__draft *draft, const char *text);
/* The value of the next parameter. */
void pawl__draft_number(struct pawl__draft *draft, int64_t number);
void pawl__draft_id(struct pawl__draft *draft, struct pawl_job_id id);
/* The same for a parameter that a text put in as it is has by number. */
void pawl__draft_given(struct pawl__draft *draft, int64_t number);
/* " IN (...)" with their numbers. */
void pawl__draft_states(struct pawl__draft *draft, uint32_t states);
/* All terms of a filter. Its strings must live as long as the draft. */
void pawl__draft_filter(struct pawl__draft *draft, const struct pawl_filter *filter);

#endif
