/* Adding to a histogram of powers of two; see struct pawl_histogram. */
#ifndef PAWL_BASE_HISTOGRAM_H
#define PAWL_BASE_HISTOGRAM_H

#include <pawl/work.h>

void pawl__histogram_add(struct pawl_histogram *histogram, int64_t value);

#endif
