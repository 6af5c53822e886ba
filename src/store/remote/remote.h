/* A store that is a server elsewhere: "http://HOST:PORT", "https://TOKEN@HOST". Operations and
 * reads travel as wire/wire.h says.
 *
 * 1. Nothing is sent twice: when the connection breaks after a request has begun to be sent, its
 *    outcome is unknown. Then a submit is looked for by the ids that we drew for its jobs, and
 *    everything else is answered with IO.
 * 2. Each operation is answered by itself, so a batch never fails whole and the committer never
 *    doubts the store: keeping it sound is the server's business.
 * 3. Upkeep is the server's business too: sweeps find nothing to do here.
 *
 * Operations are sent by one thread at a time, reads by any; each has a connection meanwhile. */
#ifndef PAWL_STORE_REMOTE_H
#define PAWL_STORE_REMOTE_H

#include "base/buf.h"
#include "base/sync.h"
#include "store/backend.h"
#include "wire/wire.h"

#include <curl/curl.h>

enum {
    PAWL__RM_IDLE_MAX = 8,               /* connections kept for later */
    PAWL__RM_REPLY_BYTES_MAX = 1 << 29,  /* half a GiB */
    PAWL__RM_CONNECT_TIMEOUT_MS = 10000, /* or the config's, if that is less, but not less than: */
    PAWL__RM_CONNECT_LEAST_MS = 3000,    /* a lost packet is sent again after a second */
    PAWL__RM_SERVER_TIMEOUT_MS = 60000,  /* for the server to do it, beyond the config's */
    PAWL__RM_WAIT_MS = 30000,            /* for news; then we ask again */
    PAWL__RM_PAUSE_MS = 2000,            /* after a question for news that failed */
    PAWL__RM_IDLE_S = 30,                /* the server's own patience is longer */
    PAWL__RM_BODY_BYTES_MIN = 64 * 1024  /* what every server takes */
};

struct pawl__backend {
    char *base;    /* of the URL, without token and final slash */
    char *token;   /* NULL: none */
    char *ca_file; /* NULL: the system's */
    int64_t busy_timeout_ms;
    int64_t body_max; /* what the server takes */
    const struct pawl_clock *clock;
    struct curl_slist *headers;

    struct pawl__mutex mutex;
    /* guarded by mutex: */
    CURL *idle[PAWL__RM_IDLE_MAX];
    size_t idle_count;

    /* of whoever applies: */
    bool ready; /* what was done last may have made more to claim */
};

/* ---- call.c ---- */

struct pawl__rm_call {
    enum pawl__wire_path path;
    struct pawl_span body;
    bool once;              /* must not be sent again by itself */
    struct pawl__buf reply; /* the caller releases it */
    bool in_doubt;          /* it failed, and may have happened */
};

/* Sends, waits. OK: it was answered with 200. Else what went wrong, and what to do about it. */
PAWL_MUST_CHECK enum pawl_err pawl__rm_call(struct pawl__backend *backend,
                                            struct pawl__rm_call *call, struct pawl_diag *diag);
void pawl__rm_calls_release(struct pawl__backend *backend);
/* A reply that is not one of ours. */
enum pawl_err pawl__rm_not_understood(const struct pawl__backend *backend,
                                      const struct pawl_diag *why, struct pawl_diag *diag);

/* All that a request needs but its method and body. The handle is used again for requests like
 * it. */
void pawl__rm_call_set(struct pawl__backend *backend, CURL *handle, struct pawl__buf *reply);

/* ---- listener.c: a thread that waits for news ---- */

pawl__wake_fn pawl__rm_wake;

/* ---- read.c ---- */

/* Ask and read the reply; what it points to lives in `arena`. */
PAWL_MUST_CHECK enum pawl_err pawl__rm_ask(struct pawl__backend *backend, enum pawl__wire_path path,
                                           const struct pawl__wire_ask *ask,
                                           const struct pawl__shape *shape,
                                           struct pawl__arena *arena, void *out,
                                           struct pawl_diag *diag);
pawl__get_fn pawl__rm_get;
pawl__query_fn pawl__rm_query;
pawl__count_fn pawl__rm_count;
pawl__story_fn pawl__rm_story;
pawl__stats_fn pawl__rm_stats;
pawl__nodes_fn pawl__rm_nodes;
pawl__locks_fn pawl__rm_locks;
pawl__setting_fn pawl__rm_setting;
pawl__settings_fn pawl__rm_settings;
pawl__tokens_fn pawl__rm_tokens;
pawl__schemas_fn pawl__rm_schemas;
pawl__configs_fn pawl__rm_configs;
pawl__flows_fn pawl__rm_flows;
pawl__schedules_fn pawl__rm_schedules;

/* ---- schedule.c ---- */

/* What a caller would say to have this. Its pointers are those of `given`, or in `scratch`. */
PAWL_MUST_CHECK enum pawl_err pawl__rm_schedule_say(const struct pawl__new_schedule *given,
                                                    struct pawl__arena *scratch,
                                                    struct pawl_schedule_spec *out,
                                                    struct pawl_diag *diag);

/* ---- op.c: operations as the wire has them ---- */

/* What `op` is on the wire; `scratch` holds what it needs beyond the op. UNSUPPORTED: it cannot
 * be. */
PAWL_MUST_CHECK enum pawl_err pawl__rm_op_say(const struct pawl__op *op,
                                              struct pawl__arena *scratch,
                                              struct pawl__wire_op *out, struct pawl_diag *diag);
/* What became of it. Sets err, diag and results. */
void pawl__rm_op_answer(struct pawl__op *op, const struct pawl__wire_answer *answer);
void pawl__rm_op_fail(struct pawl__op *op, enum pawl_err err, const struct pawl_diag *diag);
/* Upkeep, which the server does. */
bool pawl__rm_op_is_idle(const struct pawl__op *op);
/* It succeeded, and there may be more to claim now. */
bool pawl__rm_op_readies(const struct pawl__op *op);

/* ---- apply.c ---- */

pawl__apply_fn pawl__rm_apply;

#endif
