/* In place of the table of tests/support/stores.c: the store in memory alone. */
#include "support/rig.h"

static void make(char *url, size_t size)
{
    snprintf(url, size, "memory:");
}

static void dispose(const char *url)
{
    (void)url;
}

const struct store_kind store_kinds[] = {
    { .name = "maps", .no_backup = "ends with its process", .make = make, .dispose = dispose },
};
size_t store_kind_count = COUNT(store_kinds);
