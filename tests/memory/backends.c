/* In place of src/store/backends.c: the store in memory alone. */
#include "store/memory/memory.h"

const struct pawl__backend_table *const pawl__backends[] = { &pawl__backend_memory, NULL };
