/* Conversion of durations and instants from and to text. */
#ifndef PAWL_BASE_TIME_TEXT_H
#define PAWL_BASE_TIME_TEXT_H

#include <pawl/error.h>

#include <stdint.h>

#define PAWL__INSTANT_TEXT_BYTES 32 /* including the NUL */
#define PAWL__DURATION_TEXT_BYTES 32

/* "500ms", "5s", "2m", "1.5h", "3d", several of them ("1h30m", "2m 5s"), or ISO 8601 ("PT1.5S",
 * "P1DT2H", weeks; years and months are refused because their length depends on the calendar). Cut
 * to ms. Not negative; at most 100 years (36525 days). ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__duration_parse(const char *text, int64_t *out_ms);
/* ISO 8601 alone, as the Open Job Spec has it: a year counts as 365 days, a month as 30; only
 * seconds have a fraction, after a point. Cut to ms, at most 100 years. ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__iso_duration_parse(const char *text, int64_t *out_ms);
/* RFC 3339 with an offset or Z, fraction cut to ms; leap seconds count as the next second. In UTC
 * it must lie in the years 0000 to 9999. ARG. */
PAWL_MUST_CHECK enum pawl_err pawl__instant_parse(const char *text, int64_t *out_ms);
/* "2026-03-31T10:00:05.123Z"; years beyond four digits carry a sign, which does not parse back. */
void pawl__instant_text(int64_t at_ms, char out[PAWL__INSTANT_TEXT_BYTES]);
/* For display: "0s", "850ms", "1.5s", "2m 5s", "3h 20m", "4d 2h"; truncated, not rounded. */
void pawl__duration_text(int64_t ms, char out[PAWL__DURATION_TEXT_BYTES]);

#endif
