/* How a batch of operations is gone through, whatever the backend.
 *
 * Threads: that of whoever applies the batch; nothing is shared. */
#ifndef PAWL_STORE_BATCH_H
#define PAWL_STORE_BATCH_H

#include "store/store.h"

struct pawl__backend;

/* Is this an operation's own failure (a lost race, a broken rule)? Anything else takes the whole
 * transaction down. */
bool pawl__err_is_own(enum pawl_err err);

/* Sets op->err. An error that is returned fails the transaction. */
typedef enum pawl_err pawl__apply_one_fn(struct pawl__backend *backend, struct pawl__op *op);

/* Hand all operations to `one`, until it returns an error, which is returned. In order, but for
 * claims that were posted singly: they are put off while only operations come that the core
 * decides, for each would have to write first what those change. Operations posted singly have no
 * order among them, so nobody can tell. */
PAWL_MUST_CHECK enum pawl_err pawl__batch_apply(struct pawl__backend *backend,
                                                struct pawl__op **ops, size_t count,
                                                pawl__apply_one_fn *one);

#endif
