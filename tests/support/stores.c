/* The table of stores; tests/memory has another one. */
#include "support/rig.h"

#include <sqlite3.h>

static void memory_make(char *url, size_t size)
{
    snprintf(url, size, "sqlite::memory:");
}

static void memory_dispose(const char *url)
{
    (void)url;
}

static void file_make(char *url, size_t size)
{
    char dir[RIG_URL_BYTES - 32];
    temp_dir_make(dir, sizeof dir);
    snprintf(url, size, "sqlite:%s/store.db", dir);
}

static void file_dispose(const char *url)
{
    char dir[RIG_URL_BYTES];
    snprintf(dir, sizeof dir, "%s", strchr(url, ':') + 1);
    char *slash = strrchr(dir, '/');
    if (slash == NULL) return;
    *slash = '\0';
    temp_dir_remove(dir);
}

static void *file_hold(const char *url)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(strchr(url, ':') + 1, &db) != SQLITE_OK ||
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "could not hold the store: %s\n", sqlite3_errmsg(db));
        abort();
    }
    return db;
}

static void file_let_go(void *held)
{
    sqlite3_close(held); // rolls back
}

const struct store_kind store_kinds[] = {
    { .name = "memory", .make = memory_make, .dispose = memory_dispose },
    { .name = "file",
      .shared = true,
      .make = file_make,
      .dispose = file_dispose,
      .hold = file_hold,
      .let_go = file_let_go },
#ifdef PAWL_TEST_LIBPQ
    { .name = "postgres",
      .shared = true,
      .served = true,
      .no_backup = "pg_dump",
      .make = postgres_make,
      .dispose = postgres_dispose,
      .hold = postgres_hold,
      .let_go = postgres_let_go },
#endif
};
size_t store_kind_count;

__attribute__((constructor)) static void count_kinds(void)
{
    bool server = getenv("PAWL_TEST_POSTGRES") != NULL;
    while (store_kind_count < COUNT(store_kinds) &&
           (server || !store_kinds[store_kind_count].served))
        store_kind_count++;
}
