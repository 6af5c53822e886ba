/* What holds for any text: if it reads as a duration of OJS it lies between nothing and a hundred
 * years; and where the library's own reader takes the text too, both mean the same. */
#include "base/time_text.h"
#include "http/ojs/envelope.h"
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    int64_t ours, theirs;
    must(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    bool is_theirs = pawl__ojs_duration(text, &theirs) == PAWL_OK;
    bool is_ours = pawl__duration_parse(text, &ours) == PAWL_OK;
    if (is_theirs) must(text[0] == 'P' && theirs >= 0 && theirs <= INT64_C(3155760000000));
    if (is_theirs && is_ours) must(ours == theirs);
    free(text);
    return 0;
}
