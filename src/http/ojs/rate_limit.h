/* Rate limits as JSON: from what jobs and queues bring to a rate that is in force. */
#ifndef PAWL_HTTP_OJS_RATE_LIMIT_H
#define PAWL_HTTP_OJS_RATE_LIMIT_H

#include "http/local/local.h"

/* A rate_limit as jobs and queues bring it: {max_per_second}, {rate, period}, {rate: {limit,
 * period}}, {limit, period}; a period is "second", "minute", "hour", "day" or an ISO duration [a
 * second]. False: it limits no rate, or that of another key than `queue`. */
bool pawl__rate_parse(struct pawl_span rate_limit, const char *queue, struct pawl__rate *out);

/* A job with this rate_limit was submitted, or a queue configured. Empty: nothing to do. */
void pawl__rates_noted(struct pawl__server *server, const char *queue, struct pawl_span rate_limit);

#endif
