/* See batch.h. */
#include "store/batch.h"

#include "store/core/set.h"

bool pawl__err_is_own(enum pawl_err err)
{
    switch (err) {
    case PAWL_ERR_ARG:
    case PAWL_ERR_NOT_FOUND:
    case PAWL_ERR_EXISTS:
    case PAWL_ERR_DUPLICATE:
    case PAWL_ERR_STATE:
    case PAWL_ERR_STALE:
    case PAWL_ERR_HELD:
        return true;
    default:
        return false;
    }
}

struct put_off {
    struct pawl__op *first, **last;
};

static bool can_wait(const struct pawl__op *op)
{
    return op->kind == PAWL__OP_CLAIM && !op->chained;
}

static enum pawl_err apply_put_off(struct pawl__backend *backend, struct put_off *claims,
                                   pawl__apply_one_fn *one)
{
    enum pawl_err err = PAWL_OK;
    for (struct pawl__op *op = claims->first; op && !err; op = op->next) {
        err = one(backend, op);
    }
    *claims = (struct put_off){ .first = NULL, .last = &claims->first };
    return err;
}

enum pawl_err pawl__batch_apply(struct pawl__backend *backend, struct pawl__op **ops, size_t count,
                                pawl__apply_one_fn *one)
{
    struct put_off claims = { .first = NULL, .last = &claims.first };
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; !err && i < count; i++) {
        struct pawl__op *op = ops[i];
        if (can_wait(op)) {
            op->next = NULL;
            *claims.last = op;
            claims.last = &op->next;
            continue;
        }
        if (!pawl__core_decides(op)) err = apply_put_off(backend, &claims, one);
        if (!err) err = one(backend, op);
    }
    return err ? err : apply_put_off(backend, &claims, one);
}
