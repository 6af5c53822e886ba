/* Durations in powers of two: compact, mergeable, accurate to a factor of two and interpolated
 * between bucket ends. */
#include "base/histogram.h"

#include <assert.h>

void pawl__histogram_add(struct pawl_histogram *histogram, int64_t value)
{
    if (value < 0) value = 0;
    int bucket = 0;
    while (bucket < PAWL_HISTOGRAM_BUCKETS - 1 && value >= (INT64_C(1) << bucket)) {
        bucket++;
    }
    histogram->below[bucket]++;
    histogram->count++;
    histogram->sum_us += value;
    if (value > histogram->max_us) histogram->max_us = value;
}

int64_t pawl_histogram_quantile(const struct pawl_histogram *histogram, double q)
{
    assert(q >= 0 && q <= 1);
    double want = q * (double)histogram->count;
    double seen = 0;
    for (int i = 0; i < PAWL_HISTOGRAM_BUCKETS; i++) {
        double here = (double)histogram->below[i];
        if (here > 0 && seen + here >= want) {
            int64_t low = i ? INT64_C(1) << (i - 1) : 0;
            int64_t high = i < PAWL_HISTOGRAM_BUCKETS - 1 ? INT64_C(1) << i : histogram->max_us;
            int64_t value = low + (int64_t)((double)(high - low) * (want - seen) / here);
            return value > histogram->max_us ? histogram->max_us : value;
        }
        seen += here;
    }
    return histogram->max_us;
}
