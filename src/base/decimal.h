/* Doubles as decimal text, for JSON. */
#ifndef PAWL_BASE_DECIMAL_H
#define PAWL_BASE_DECIMAL_H

#include "base/buf.h"

/* The fewest digits that read back as the same number (for some powers of two one digit more),
 * never over 17; "2", "1.5", "1e+308". Always a dot, whatever the locale says, which is why this is
 * not printf. `value` is finite. */
void pawl__decimal_print(double value, struct pawl__buf *out);

#endif
