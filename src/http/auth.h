/* Who may do what: tokens, kept in the store (see http.h), here in memory. The loop's thread. */
#ifndef PAWL_HTTP_AUTH_H
#define PAWL_HTTP_AUTH_H

#include "http/routes.h"

struct pawl__auth;

/* Reads the tokens; blocks. What the store says. */
PAWL_MUST_CHECK enum pawl_err pawl__auth_new(struct pawl__server *server, struct pawl__auth **out,
                                             struct pawl_diag *diag);
void pawl__auth_free(struct pawl__auth *auth); /* NULL is fine */
/* Is there a token that can be used? */
bool pawl__auth_has_tokens(const struct pawl__auth *auth);
/* Is everybody let in? Only when there has never been a token and only this machine can ask. */
bool pawl__auth_is_open(const struct pawl__auth *auth);
/* False: refused, `*fault` is filled in and headers are added. Sets request->token_name. */
bool pawl__auth_check(struct pawl__auth *auth, struct pawl__request *request,
                      enum pawl__scope scope, struct pawl__fault *fault);
/* Read the tokens again when it is time, note which were used; both on the pool. */
void pawl__auth_tick(struct pawl__auth *auth);

#endif
