/* What holds for any text:
 *
 * 1. an instant that reads lies in the years 0000 to 9999, prints, and reads back the same;
 * 2. a duration that reads lies between nothing and a hundred years, and prints;
 * 3. no text is both.
 *
 * And any eight bytes as a number print without harm. */
#include "base/time_text.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_instant(int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    int64_t back;
    must(at_ms >= INT64_C(-62167219200000) && at_ms <= INT64_C(253402300799999));
    pawl__instant_text(at_ms, text);
    must(strlen(text) == strlen("2026-03-31T10:00:05.123Z"));
    must(!pawl__instant_parse(text, &back) && back == at_ms);
}

static void check_duration(int64_t ms)
{
    char text[PAWL__DURATION_TEXT_BYTES];
    must(ms >= 0 && ms <= INT64_C(3155760000000));
    pawl__duration_text(ms, text);
    must(strlen(text) > 1 && strlen(text) < sizeof text);
}

static void check_number(const uint8_t *data)
{
    char instant[PAWL__INSTANT_TEXT_BYTES], duration[PAWL__DURATION_TEXT_BYTES];
    int64_t ms;
    memcpy(&ms, data, sizeof ms);
    pawl__instant_text(ms, instant);
    pawl__duration_text(ms, duration);
    must(strlen(instant) < sizeof instant && strlen(duration) < sizeof duration);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    must(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    int64_t instant, duration;
    bool is_instant = pawl__instant_parse(text, &instant) == PAWL_OK;
    bool is_duration = pawl__duration_parse(text, &duration) == PAWL_OK;
    must(!(is_instant && is_duration));
    if (is_instant) check_instant(instant);
    if (is_duration) check_duration(duration);
    if (size >= sizeof(int64_t)) check_number(data);
    free(text);
    return 0;
}
