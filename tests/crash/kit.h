/* Shared by the crash, fault and process suites. Nothing here uses cmocka, so that children that
 * are killed can use it too. */
#ifndef PAWL_TESTS_KIT_H
#define PAWL_TESTS_KIT_H

#include "base/rng.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define KIT_START_MS INT64_C(1750000000000) /* June 2025 */
#define KIT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { KIT_PATH_BYTES = 512, KIT_COMPLAINTS_SHOWN = 20 };

/* PAWL_TEST_SCALE percent [100] of `full`, at least `least`. */
int64_t kit_scaled(int64_t full, int64_t least);
/* PAWL_TEST_SEED, or one from the system. */
uint64_t kit_seed(void);
/* A decimal number that is all of `text`; exits with a message otherwise. */
uint64_t kit_number(const char *text);
int64_t kit_mono_us(void);

/* A new directory under TMPDIR, and its removal with the plain files in it. */
void kit_dir_make(char path[KIT_PATH_BYTES]);
/* In memory if there is such a place, for tests that do not care for the disk. */
void kit_dir_make_fast(char path[KIT_PATH_BYTES]);
void kit_dir_remove(const char *path);
/* "sqlite:" and directory/name. */
void kit_url(char url[KIT_PATH_BYTES], const char *dir, const char *name);
/* The file, and what SQLite puts beside it. */
void kit_store_remove(const char *path);

/* A clock to move by hand. With `ticking` it also moves by itself; then waits that count on
 * monotonic time end. `kit` must stay where it is. Any thread. */
struct kit_clock {
    struct pawl_clock clock;
    _Atomic int64_t wall_ms;
    _Atomic int64_t mono_us;
    int64_t began_us;
    bool ticking;
};
void kit_clock_init(struct kit_clock *kit, int64_t wall_ms, bool ticking);
void kit_clock_advance(struct kit_clock *kit, int64_t ms); /* both times */

/* A complete configuration, as src/api hands it to the store. `clock` NULL: the system's. */
struct pawl_config kit_config(const char *url, const struct pawl_clock *clock);

/* What went wrong, counted; the first few are printed to stderr with the name of the suite. */
struct kit_complaints {
    const char *suite;
    int64_t count;
};
void kit_complain(struct kit_complaints *complaints, const char *format, ...) PAWL_PRINTF(2, 3);

/* Runs pawl__store_check; each finding is a complaint. */
void kit_check(struct kit_complaints *complaints, struct pawl__store *store, const char *where);

/* A retry policy without jitter, and its JSON. */
struct kit_retry {
    struct pawl_retry policy;
    struct pawl__buf json;
};
void kit_retry_init(struct kit_retry *retry, int32_t attempts_max, int64_t wait_ms);
void kit_retry_release(struct kit_retry *retry);

/* Fills in `job` as src/api would, with the spec's missing queue and arguments. `spec` must outlive
 * it and name its type. */
void kit_new_job(struct pawl__new_job *job, struct pawl_job_spec *spec, struct pawl_job_id id,
                 const struct kit_retry *retry);
struct pawl__key kit_key(enum pawl__key_kind kind, uint64_t number);
struct pawl_job_id kit_job_id(uint64_t number, uint32_t index, bool shared_prefix);

bool kit_same_id(struct pawl_job_id a, struct pawl_job_id b);
const char *kit_state(enum pawl_state state);

#endif
