/* Errors: the return values of all functions, and the struct that describes an error to the caller.
 *
 * The numbers are part of the ABI: append, never reuse. The HTTP status is what the server answers
 * for the error; the text is used when no more specific message is known. */
#ifndef PAWL_ERROR_H
#define PAWL_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#if defined(__GNUC__)
#define PAWL_MUST_CHECK __attribute__((warn_unused_result))
#define PAWL_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PAWL_MUST_CHECK
#define PAWL_PRINTF(text, first)
#endif

/* number, NAME, HTTP status, text */
#define PAWL_ERRORS(X)                                                                             \
    X(0, OK, 200, "ok")                                                                            \
    X(1, ARG, 400, "an argument is not valid")                                                     \
    X(2, NOMEM, 503, "out of memory")                                                              \
    X(3, NOT_FOUND, 404, "not found")                                                              \
    X(4, EXISTS, 409, "this id is taken")                                                          \
    X(5, DUPLICATE, 409, "another job holds this key")                                             \
    X(6, STATE, 409, "the job's state does not allow this")                                        \
    X(7, STALE, 409, "no longer the owner of this run")                                            \
    X(8, HELD, 409, "held by another owner")                                                       \
    X(9, BUSY, 503, "the store is locked by another process")                                      \
    X(10, FULL, 507, "no space is left for the store")                                             \
    X(11, IO, 503, "the store could not be read or written")                                       \
    X(12, CORRUPT, 500, "the store is damaged")                                                    \
    X(13, READONLY, 503, "the store cannot be written")                                            \
    X(14, SCHEMA, 500, "the store's schema is not one this program knows")                         \
    X(15, UNSAFE, 503, "the store refuses writes until it has been reopened and checked")          \
    X(16, CLOSED, 503, "the store is closed")                                                      \
    X(17, LIMIT, 413, "a limit is exceeded")                                                       \
    X(18, UNSUPPORTED, 422, "not supported")

#define X(number, name, status, text) PAWL_ERR_##name = number,
#define PAWL_ERR_OK PAWL_OK /* the list says OK; the public name is PAWL_OK */
enum pawl_err { PAWL_ERRORS(X) PAWL_ERR_END };
#undef X
#undef PAWL_ERR_OK

/* A description of the error. Written only on failure, and then completely: a caller may print
 * `text` as it is. `field` names the invalid argument, "" if there is none. */
struct pawl_diag {
    enum pawl_err err;
    char field[48];
    char text[336];
};

/* "STALE" for PAWL_ERR_STALE; "UNKNOWN" for a number that is not in the list. Never NULL. */
const char *pawl_err_name(enum pawl_err err);
/* The text of the list. Never NULL. */
const char *pawl_err_text(enum pawl_err err);
/* The HTTP status of the list; 500 for a number that is not in it. */
int pawl_err_status(enum pawl_err err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
