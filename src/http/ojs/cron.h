/* Recurring jobs as the Open Job Spec has them: what the files of its routes share. On the pool. */
#ifndef PAWL_HTTP_OJS_CRON_H
#define PAWL_HTTP_OJS_CRON_H

#include "http/ojs/shapes.h"
#include "http/ojs/warnings.h"

#include <pawl/cron.h>

/* The words of overlap policies: those of the library, where "queue" is "enqueue". */
extern const struct pawl__words pawl__ojs_overlap_words, pawl__ojs_misfire_words,
    pawl__ojs_dialect_words, pawl__ojs_gap_words;

/* ---- cron_in.c ---- */

/* A body that says what a schedule is to be. */
struct pawl__cron_body {
    struct pawl_schedule_spec spec;
    bool changes; /* it says more than "enabled" */
    bool enabled_given;
    struct pawl__warnings warnings;
};

/* Reads the body over the schedule `old` (NULL: there is none, and name, expression and type are
 * required unless `name` gives the name). Two layouts of the job: in "job_template", or its members
 * beside the schedule's. False: answered. */
bool pawl__cron_read(struct pawl__request *request, const char *name,
                     const struct pawl_schedule *old, struct pawl__cron_body *out);
/* What the library says about a spec, in the words of this API: 400 with the reason. */
bool pawl__cron_refuse(struct pawl__request *request, enum pawl_err err,
                       enum pawl_cron_reason reason, const struct pawl_diag *diag);

/* ---- cron_out.c ---- */

extern const struct pawl__shape pawl__ojs_cron_shape;      /* struct pawl_schedule */
extern const struct pawl__shape pawl__ojs_cron_flat_shape; /* the same without "cron" */
/* The template alone, as a job that is submitted: {"type":...,"args":...,"options":{...}}. */
void pawl__cron_print_template(struct pawl__buf *out, const struct pawl_job_spec *job,
                               struct pawl__arena *arena);

#endif
