/* What holds for any text: an ISO 8601 duration is between nothing and a hundred years; if both
 * readers take the text, both mean the same. */
#include "base/time_text.h"
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    int64_t ours, iso;
    must(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    bool is_iso = pawl__iso_duration_parse(text, &iso) == PAWL_OK;
    bool is_ours = pawl__duration_parse(text, &ours) == PAWL_OK;
    if (is_iso) must(text[0] == 'P' && iso >= 0 && iso <= INT64_C(3155760000000));
    if (is_iso && is_ours) must(ours == iso);
    free(text);
    return 0;
}
