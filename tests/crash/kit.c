#include "crash/kit.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t kit_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno || end == text || *end) {
        fprintf(stderr, "\"%s\" is not a number\n", text);
        exit(2);
    }
    return number;
}

int64_t kit_scaled(int64_t full, int64_t least)
{
    const char *text = getenv("PAWL_TEST_SCALE");
    int64_t percent = text && *text ? (int64_t)kit_number(text) : 100;
    int64_t value = full * percent / 100;
    return value > least ? value : least;
}

uint64_t kit_seed(void)
{
    const char *text = getenv("PAWL_TEST_SEED");
    return text && *text ? kit_number(text) : pawl__rng_system_seed() >> 32;
}

int64_t kit_mono_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- files ---- */

static void dir_make_in(const char *parent, char path[KIT_PATH_BYTES])
{
    snprintf(path, KIT_PATH_BYTES, "%s/pawl-test-XXXXXX", parent);
    if (!mkdtemp(path)) {
        perror(path);
        exit(2);
    }
}

void kit_dir_make(char path[KIT_PATH_BYTES])
{
    const char *parent = getenv("TMPDIR");
    dir_make_in(parent && *parent ? parent : "/tmp", path);
}

void kit_dir_make_fast(char path[KIT_PATH_BYTES])
{
    const char *wanted = getenv("TMPDIR");
    bool chosen = wanted && *wanted;
    if (!chosen && access("/dev/shm", W_OK | X_OK) == 0)
        dir_make_in("/dev/shm", path);
    else
        kit_dir_make(path);
}

void kit_dir_remove(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char file[KIT_PATH_BYTES + NAME_MAX + 2];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) remove(file);
    }
    if (dir) closedir(dir);
    rmdir(path);
}

void kit_url(char url[KIT_PATH_BYTES], const char *dir, const char *name)
{
    snprintf(url, KIT_PATH_BYTES, "sqlite:%s/%s", dir, name);
}

void kit_store_remove(const char *path)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal", "-turn" };
    for (size_t i = 0; i < KIT_COUNT(suffixes); i++) {
        char file[KIT_PATH_BYTES + 16];
        snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
        unlink(file);
    }
}

/* ---- time ---- */

static int64_t clock_elapsed_us(const struct kit_clock *kit)
{
    return kit->ticking ? kit_mono_us() - kit->began_us : 0;
}

static int64_t clock_wall_ms(void *ctx)
{
    struct kit_clock *kit = ctx;
    return atomic_load(&kit->wall_ms) + clock_elapsed_us(kit) / 1000;
}

static int64_t clock_mono_us(void *ctx)
{
    struct kit_clock *kit = ctx;
    return atomic_load(&kit->mono_us) + clock_elapsed_us(kit);
}

void kit_clock_init(struct kit_clock *kit, int64_t wall_ms, bool ticking)
{
    kit->clock = (struct pawl_clock){ clock_wall_ms, clock_mono_us, kit };
    kit->began_us = kit_mono_us();
    kit->ticking = ticking;
    atomic_init(&kit->wall_ms, wall_ms);
    atomic_init(&kit->mono_us, 1000000);
}

void kit_clock_advance(struct kit_clock *kit, int64_t ms)
{
    atomic_fetch_add(&kit->wall_ms, ms);
    atomic_fetch_add(&kit->mono_us, ms * 1000);
}

struct pawl_config kit_config(const char *url, const struct pawl_clock *clock)
{
    return (struct pawl_config){ .store = url,
                                 .clock = clock ? clock : &pawl__clock_system,
                                 .busy_timeout_ms = 30000,
                                 .seed = 1 };
}

/* ---- complaints ---- */

void kit_complain(struct kit_complaints *complaints, const char *format, ...)
{
    if (complaints->count++ >= KIT_COMPLAINTS_SHOWN) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%s: %s\n", complaints->suite, text);
}

struct finding_place {
    struct kit_complaints *complaints;
    const char *where;
};

static void note_finding(void *ctx, const char *finding)
{
    struct finding_place *place = ctx;
    kit_complain(place->complaints, "%s: check finds: %s", place->where, finding);
}

void kit_check(struct kit_complaints *complaints, struct pawl__store *store, const char *where)
{
    struct pawl_diag diag = { 0 };
    struct finding_place place = { complaints, where };
    enum pawl_err err = pawl__store_check(store, note_finding, &place, &diag);
    if (err) {
        kit_complain(complaints, "%s: check: %s: %s", where, pawl_err_name(err), diag.text);
    }
}

/* ---- jobs ---- */

void kit_retry_init(struct kit_retry *retry, int32_t attempts_max, int64_t wait_ms)
{
    *retry = (struct kit_retry){ .policy = { .attempts_max = attempts_max,
                                             .backoff = PAWL_BACKOFF_CONSTANT,
                                             .initial_ms = wait_ms,
                                             .jitter = PAWL_JITTER_OFF } };
    pawl__retry_resolve(&retry->policy);
    pawl__retry_print(&retry->policy, &retry->json);
}

void kit_retry_release(struct kit_retry *retry)
{
    pawl__buf_release(&retry->json);
}

void kit_new_job(struct pawl__new_job *job, struct pawl_job_spec *spec, struct pawl_job_id id,
                 const struct kit_retry *retry)
{
    if (!spec->queue) spec->queue = "default";
    if (!spec->args.len) spec->args = (struct pawl_span){ "[]", 2 };
    spec->retry = retry->policy;
    *job = (struct pawl__new_job){ .id = id,
                                   .spec = spec,
                                   .retry = { retry->json.at, retry->json.len } };
}

struct pawl__key kit_key(enum pawl__key_kind kind, uint64_t number)
{
    struct pawl__key key = { .kind = kind, .on_conflict = PAWL_CONFLICT_REJECT };
    if (kind == PAWL__KEY_IDEMPOTENCY) key.on_conflict = PAWL_CONFLICT_IGNORE;
    memcpy(key.digest, &number, sizeof number);
    key.digest[15] = (uint8_t)kind;
    return key;
}

struct pawl_job_id kit_job_id(uint64_t number, uint32_t index, bool shared_prefix)
{
    struct pawl_job_id id = { 0 };
    for (int i = 0; i < 6; i++) {
        id.b[i] = (uint8_t)(number >> (40 - 8 * i));
    }
    id.b[6] = 0x70;
    id.b[8] = 0x80;
    uint8_t *at = shared_prefix ? &id.b[14] : &id.b[6];
    at[0] |= (uint8_t)(index >> 8 & 0x0f);
    at[1] |= (uint8_t)index;
    return id;
}

bool kit_same_id(struct pawl_job_id a, struct pawl_job_id b)
{
    return memcmp(a.b, b.b, sizeof a.b) == 0;
}

const char *kit_state(enum pawl_state state)
{
    return pawl_state_name(state, PAWL_VOCABULARY_PAWL);
}
