/* Filling in a struct pawl_diag. Each returns `err`, so that a failure is one line:
 *
 *     return pawl__fail_field(diag, PAWL_ERR_ARG, "queue", "queue \"%s\" is too long", queue); */
#ifndef PAWL_BASE_DIAG_H
#define PAWL_BASE_DIAG_H

#include <pawl/error.h>

/* `diag` may be NULL. Text that does not fit is cut and ends in "...". */
enum pawl_err pawl__fail(struct pawl_diag *diag, enum pawl_err err, const char *format, ...)
    PAWL_PRINTF(3, 4);
enum pawl_err pawl__fail_field(struct pawl_diag *diag, enum pawl_err err, const char *field,
                               const char *format, ...) PAWL_PRINTF(4, 5);
/* For PAWL_ERR_NOMEM, which needs no further text. */
enum pawl_err pawl__fail_nomem(struct pawl_diag *diag);

/* clang's analyzer sees only one file at a time: this shows it what the functions return. */
#if defined(__clang_analyzer__) && !defined(PAWL__DIAG_ITSELF)
#define pawl__fail(diag, err, ...) ((void)pawl__fail(diag, err, __VA_ARGS__), (err))
#define pawl__fail_field(diag, err, ...) ((void)pawl__fail_field(diag, err, __VA_ARGS__), (err))
#define pawl__fail_nomem(diag) ((void)pawl__fail_nomem(diag), PAWL_ERR_NOMEM)
#endif

#endif
