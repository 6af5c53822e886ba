/* What holds for any text: if it reads as an id, the id prints as that text in lower case. */
#include "fuzz.h"

#include <pawl/pawl.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), again[PAWL_JOB_ID_TEXT_BYTES];
    struct pawl_job_id id;
    must(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    if (pawl_job_id_parse(text, &id) == PAWL_OK) {
        pawl_job_id_text(id, again);
        must(strcasecmp(text, again) == 0);
    }
    free(text);
    return 0;
}
