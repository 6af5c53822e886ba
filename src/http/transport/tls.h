/* TLS on bytes in memory: the connection brings what came and takes what must go. */
#ifndef PAWL_HTTP_TRANSPORT_TLS_H
#define PAWL_HTTP_TRANSPORT_TLS_H

#include "base/buf.h"

#include <pawl/pawl.h>

struct pawl__tls_context; /* certificate and key */
struct pawl__tls;         /* one connection */

/* ARG: a file that cannot be read or does not fit. TLS 1.2 or newer. */
PAWL_MUST_CHECK enum pawl_err pawl__tls_context_new(const char *cert, const char *key,
                                                    struct pawl__tls_context **out,
                                                    struct pawl_diag *diag);
/* The files again. On failure the old ones stay in force. */
PAWL_MUST_CHECK enum pawl_err pawl__tls_context_reload(struct pawl__tls_context *context,
                                                       struct pawl_diag *diag);
void pawl__tls_context_free(struct pawl__tls_context *context);

struct pawl__tls *pawl__tls_new(struct pawl__tls_context *context); /* NULL: no memory */
void pawl__tls_free(struct pawl__tls *tls);
/* Bytes came. What they hold is appended to `plain`, what must be sent for them to `out`. False:
 * send `out` and close. */
bool pawl__tls_take(struct pawl__tls *tls, const char *at, size_t len, struct pawl__buf *plain,
                    struct pawl__buf *out);
/* Encrypt, appending to `out`. False: close. */
bool pawl__tls_put(struct pawl__tls *tls, const char *at, size_t len, struct pawl__buf *out);
/* Say goodbye. */
void pawl__tls_end(struct pawl__tls *tls, struct pawl__buf *out);

#endif
