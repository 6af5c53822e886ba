/* Checks of values from outside: text, lists and times. Each check names the invalid member in
 * diag->field and the rule in diag->text. Sizes and counts beyond a limit are PAWL_ERR_LIMIT, all
 * else PAWL_ERR_ARG. Pure: allocates no memory, any thread. */
#ifndef PAWL_BASE_CHECK_H
#define PAWL_BASE_CHECK_H

#include <pawl/job.h>

/* 9999-12-31T23:59:59.999Z and a hundred years: the sum of a few of these does not overflow. */
#define PAWL__INSTANT_MAX_MS INT64_C(253402300799999)
#define PAWL__DURATION_MAX_MS INT64_C(3155760000000)

/* ---- text ---- */

/* Text from outside, made fit for a message: short, printable, valid UTF-8.
 *
 *     pawl__fail(diag, err, "queue \"%s\" ...", pawl__quote(queue).text) */
struct pawl__quoted {
    char text[64];
};
struct pawl__quoted pawl__quote(const char *text);

/* UTF-8 without control characters? */
bool pawl__is_printable(const char *text, size_t len);

/* 1..bytes_max bytes of UTF-8 without control characters. NULL counts as empty. */
struct pawl__text_rule {
    const char *field;
    size_t bytes_max;
};
PAWL_MUST_CHECK enum pawl_err pawl__check_text(const struct pawl__text_rule *rule, const char *text,
                                               struct pawl_diag *diag);
/* The same, but NULL and "" mean "not given". */
PAWL_MUST_CHECK enum pawl_err pawl__check_optional(const struct pawl__text_rule *rule,
                                                   const char *text, struct pawl_diag *diag);
/* Text of several lines: UTF-8 of at most bytes_max bytes. NULL and "" are allowed. */
PAWL_MUST_CHECK enum pawl_err pawl__check_utf8(const struct pawl__text_rule *rule, const char *text,
                                               struct pawl_diag *diag);
/* A list of at most count_max texts, none of them NULL; the field of an invalid one is "field[i]".
 */
struct pawl__list_rule {
    struct pawl__text_rule each;
    size_t count_max;
};
PAWL_MUST_CHECK enum pawl_err pawl__check_list(const struct pawl__list_rule *rule,
                                               const char *const *list, size_t count,
                                               struct pawl_diag *diag);

/* ---- times ---- */

/* A lease is a duration of at least PAWL_LEASE_MIN_MS. A shorter one would end before the worker
 * has started, and the job would soon be discarded as a poison pill. */
enum pawl__time_kind { PAWL__TIME_INSTANT, PAWL__TIME_DURATION, PAWL__TIME_LEASE };
/* 0 ("not given") or within the bounds of the kind. */
PAWL_MUST_CHECK enum pawl_err pawl__check_time(const char *field, enum pawl__time_kind kind,
                                               int64_t value_ms, struct pawl_diag *diag);

/* ---- fields of errors ---- */

/* Adds an index after the field, "tags" -> "tags[3]", or before it, "queue" -> "[3].queue"; in the
 * second case to the text too. `diag` may be NULL. */
void pawl__diag_index(struct pawl_diag *diag, size_t index);
void pawl__diag_within(struct pawl_diag *diag, size_t index);

#endif
