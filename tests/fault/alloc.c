#include "fault/alloc.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define X(name, text) text,
static const char *const names[SCARCITY_END] = { SCARCITIES(X) };
#undef X

static _Atomic int scarce;
static _Atomic int64_t seen, failed, nth, count, live;

const char *scarcity_name(enum scarcity scarcity)
{
    return names[scarcity];
}

void alloc_arm(struct alloc_plan plan)
{
    atomic_store(&scarce, SCARCE_NONE);
    atomic_store(&seen, 0);
    atomic_store(&failed, 0);
    atomic_store(&nth, plan.nth);
    atomic_store(&count, plan.count);
    atomic_store(&scarce, plan.scarce);
}

int64_t alloc_seen(void)
{
    return atomic_load(&seen);
}

int64_t alloc_failed(void)
{
    return atomic_load(&failed);
}

int64_t alloc_live(void)
{
    return atomic_load(&live);
}

static bool strikes(enum scarcity what)
{
    if (atomic_load(&scarce) != (int)what) return false;
    int64_t now = atomic_fetch_add(&seen, 1) + 1;
    int64_t first = atomic_load(&nth), so_many = atomic_load(&count);
    bool hit = first && now >= first && (!so_many || now < first + so_many);
    if (hit) atomic_fetch_add(&failed, 1);
    return hit;
}

/* ---- ours: the linker sends every call of the program's own objects here ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t items, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *block);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

static void *counted(void *block)
{
    if (block) {
        atomic_fetch_add(&live, 1);
    }
    return block;
}

void *__wrap_malloc(size_t bytes)
{
    return strikes(SCARCE_OURS) ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t items, size_t bytes)
{
    return strikes(SCARCE_OURS) ? NULL : counted(__real_calloc(items, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    if (strikes(SCARCE_OURS)) return NULL;
    void *block = __real_realloc(old, bytes);
    return old ? block : counted(block);
}

void __wrap_free(void *block)
{
    if (block) atomic_fetch_sub(&live, 1);
    __real_free(block);
}

char *__wrap_strndup(const char *text, size_t max)
{
    size_t len = strnlen(text, max);
    char *copy = __wrap_malloc(len + 1);
    if (!copy) return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    return strikes(SCARCE_THREADS) ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

/* ---- SQLite's ---- */

static sqlite3_mem_methods plain;

static void *sqlite_malloc(int bytes)
{
    return strikes(SCARCE_SQLITE) ? NULL : plain.xMalloc(bytes);
}

static void *sqlite_realloc(void *old, int bytes)
{
    return strikes(SCARCE_SQLITE) ? NULL : plain.xRealloc(old, bytes);
}

void alloc_install(void)
{
    int rc = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain);
    assert(rc == SQLITE_OK);
    static sqlite3_mem_methods scarce_methods;
    scarce_methods = plain;
    scarce_methods.xMalloc = sqlite_malloc;
    scarce_methods.xRealloc = sqlite_realloc;
    rc = sqlite3_config(SQLITE_CONFIG_MALLOC, &scarce_methods);
    assert(rc == SQLITE_OK);
    // small pieces come from here too, not from a reserve that cannot fail
    rc = sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    assert(rc == SQLITE_OK);
}
