/* Doubles as decimal text, for JSON. Internal to this room. */
#ifndef PAWL_LIFECYCLE_DECIMAL_H
#define PAWL_LIFECYCLE_DECIMAL_H

#include "base/buf.h"

/* Prints the fewest digits that are read back as the same number (for some powers of two one digit
 * more), at most 17; "2", "1.5", "1e+308". The decimal point is a dot in every locale, unlike
 * printf's. `value` is finite. */
void pawl__decimal_print(double value, struct pawl__buf *out);

#endif
