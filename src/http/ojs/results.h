/* Requests that wait for a job's result. On the loop. */
#ifndef PAWL_HTTP_OJS_RESULTS_H
#define PAWL_HTTP_OJS_RESULTS_H

#include "http/transport/transport.h"

struct pawl__results;

struct pawl__results *pawl__results_new(struct pawl__server *server); /* NULL: no memory */
void pawl__results_free(struct pawl__results *results);
/* A job moved. */
void pawl__results_moved(struct pawl__results *results, const struct pawl_moved *moved);
/* Another process reported a change. */
void pawl__results_foreign(struct pawl__results *results);
void pawl__results_tick(struct pawl__results *results);

#endif
