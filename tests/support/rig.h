/* A rig: an open store with a clock that the test moves, and an arena for the test's data. Only the
 * test's thread may use it, since a failed expectation ends the test through cmocka; other threads
 * use pawl__store_do. */
#ifndef PAWL_TESTS_RIG_H
#define PAWL_TESTS_RIG_H

#include "base/arena.h"
#include "store/store.h"
#include "support/hand_clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { RIG_URL_BYTES = 512 };

/* A store that the suites run against. To put another through them, add it to the table. */
struct store_kind {
    const char *name;
    bool shared; /* opened twice, one URL is one store */
    bool served; /* a server has it */
    const char
        *no_backup; /* pawl_backup refuses, in words with these among them; NULL: it copies */
    void (*make)(char *url, size_t size); /* the URL of a store that is empty or not there yet */
    void (*dispose)(const char *url);
    void *(*hold)(const char *url); /* from here on nobody can write; NULL: it has no others */
    void (*let_go)(void *held);
};

extern const struct store_kind store_kinds[];
extern size_t store_kind_count; /* without those that need a server when there is none */
/* Does PAWL_TEST_STORES name it, or nothing? */
bool store_kind_wanted(const struct store_kind *kind);
/* The first that is wanted and that processes can share: for tests that need just one. */
const struct store_kind *store_kind_shared(void);

/* The store on a server, if this was built with its library (postgres.c). The server is the one
 * that PAWL_TEST_POSTGRES names, a URL; each store is a schema of its own there. */
void postgres_make(char *url, size_t size);
void postgres_dispose(const char *url);
void *postgres_hold(const char *url);
void postgres_let_go(void *held);

/* A new empty directory, and its removal with all files in it. */
void temp_dir_make(char *path, size_t size);
void temp_dir_remove(const char *path);

struct rig_kept;

struct rig {
    const struct store_kind *kind;
    char url[RIG_URL_BYTES];
    struct hand_clock own_clock;
    struct hand_clock *clock; /* the own one, or that of the rig it is a peer of */
    struct pawl__store *store;
    struct rig_kept *kept;
    struct pawl__arena arena; /* what reads give, until the rig is closed */
    struct pawl_diag diag;    /* of the newest operation that failed */
    uint32_t id_count;
    uint32_t id_space; /* peers make other ids */
    uint32_t queue_count;
    int64_t id_ms;
};

void rig_open(struct rig *rig, const struct store_kind *kind);
/* A store that the caller names and keeps. */
void rig_open_url(struct rig *rig, const char *url);
/* A second store on the first one's URL, with its clock. */
void rig_open_peer(struct rig *rig, struct rig *of);
void rig_close(struct rig *rig); /* and disposes of the store, unless it is a peer */
void rig_reopen(struct rig *rig);
/* Forget what operations and reads have given so far. */
void rig_tidy(struct rig *rig);
/* The arena's content lives until the rig is closed. */
void rig_keep(struct rig *rig, struct pawl__arena *taken_arena);
int64_t rig_now(struct rig *rig);
void rig_advance(struct rig *rig, int64_t by_ms);
/* Ascending, version 7. */
struct pawl_job_id rig_id(struct rig *rig);
/* A queue's name that was not used before. */
const char *rig_queue(struct rig *rig);
/* printf into the rig's arena. */
const char *rig_text(struct rig *rig, const char *format, ...) PAWL_PRINTF(2, 3);
/* The largest that src/api lets through. */
#define INSTANT_MAX_MS INT64_C(253402300799999) /* the end of the year 9999 */
#define DURATION_MAX_MS INT64_C(3155760000000)  /* a century */

/* `bytes` of "é" and other letters of two to four bytes, as a JSON string in an array when
 * `json`; NUL-terminated. */
struct pawl_span rig_multibyte(struct rig *rig, size_t bytes, bool json);

/* What must hold after every test: the store's own check finds nothing, and its counts equal a
 * full scan. */
void rig_check(struct rig *rig);

/* PAWL_TEST_SCALE percent of `full`, at least 1. */
int64_t scaled(int64_t full);

/* ---- expectations ---- */

void expect_err_at(struct rig *rig, enum pawl_err expected, enum pawl_err actual, const char *what,
                   const char *file, int line);
#define assert_err(rig, expected, expression)                                                      \
    expect_err_at(rig, expected, expression, #expression, __FILE__, __LINE__)
#define assert_ok(rig, expression) assert_err(rig, PAWL_OK, expression)

void expect_state_at(enum pawl_state expected, enum pawl_state actual, const char *what,
                     const char *file, int line);
#define assert_state(expected, expression)                                                         \
    expect_state_at(PAWL_STATE_##expected, expression, #expression, __FILE__, __LINE__)

void expect_i64_at(int64_t expected, int64_t actual, const char *what, const char *file, int line);
#define assert_i64(expected, expression)                                                           \
    expect_i64_at(expected, expression, #expression, __FILE__, __LINE__)

void expect_id_at(struct pawl_job_id expected, struct pawl_job_id actual, const char *what,
                  const char *file, int line);
#define assert_id(expected, expression)                                                            \
    expect_id_at(expected, expression, #expression, __FILE__, __LINE__)

void expect_span_at(struct pawl_span expected, struct pawl_span actual, const char *what,
                    const char *file, int line);
#define assert_span(expected, expression)                                                          \
    expect_span_at(expected, expression, #expression, __FILE__, __LINE__)

void expect_text_at(const char *expected, const char *actual, const char *what, const char *file,
                    int line);
/* Like assert_string_equal, but shows where long texts part. */
#define assert_text(expected, expression)                                                          \
    expect_text_at(expected, expression, #expression, __FILE__, __LINE__)
void expect_within_at(const char *needle, const char *text, const char *file, int line);
#define assert_within(needle, text) expect_within_at(needle, text, __FILE__, __LINE__)

bool same_id(struct pawl_job_id a, struct pawl_job_id b);
struct pawl_span span_of(const char *text);

/* ---- suites ---- */

struct contract_test {
    const char *name;
    void (*body)(struct rig *rig);
    bool shared; /* needs a store that can be opened twice */
    bool copied; /* needs one that pawl_backup can copy */
};
#define CONTRACT(function)                                                                         \
    {                                                                                              \
        .name = #function, .body = (function)                                                      \
    }
#define CONTRACT_SHARED(function)                                                                  \
    {                                                                                              \
        .name = #function, .body = (function), .shared = true                                      \
    }

#define CONTRACT_COPIED(function)                                                                  \
    {                                                                                              \
        .name = #function, .body = (function), .copied = true                                      \
    }

/* Every test on every store of the table, each with a fresh store, rig_check after each. The
 * result is main's. PAWL_TEST_STORES: names of the stores to run, separated by commas [all]. */
int contract_run(const char *suite, const struct contract_test *tests, size_t count);

#endif
