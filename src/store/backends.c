/* The backends that are part of the library. A program that wants others, as tests/memory does, has
 * its own version of this file. */
#include "store/backend.h"

const struct pawl__backend_table *const pawl__backends[] = { &pawl__backend_sqlite, NULL };
