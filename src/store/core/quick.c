/* Which fast paths are taken. A store must do the same without them: tests/slow has another version
 * of this file, which knows none, and runs suites with it. */
#include "store/core/set.h"

const struct pawl__quick *pawl__core_quick(const struct pawl__core_table *table)
{
    return &table->quick;
}
