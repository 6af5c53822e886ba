/* Tests the tables made from the list of fields. The compiler checks that the list is complete (see
 * fields.c), and tests/fields checks that this check works. */
#include "base/test_kit.h"
#include "fields/fields.h"

#include <stdio.h>

static const void *value_of(const struct pawl_job *job, size_t i)
{
    return (const char *)job + pawl__job_fields[i].offset;
}

static bool is_span(size_t i)
{
    return pawl__job_fields[i].kind == PAWL__KIND_JSON ||
           pawl__job_fields[i].kind == PAWL__KIND_ARGS;
}

static void an_empty_job_has_no_null(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAWL__JOB_END; i++) {
        const void *at = value_of(&pawl__job_empty, i);
        if (pawl__job_fields[i].kind == PAWL__KIND_TEXT) {
            assert_string_equal(*(const char *const *)at, "");
        } else if (is_span(i)) {
            assert_non_null(((const struct pawl_span *)at)->at);
            assert_int_equal(((const struct pawl_span *)at)->len, 0);
        }
    }
    assert_int_equal(pawl__job_empty.state, PAWL_STATE_NONE);
}

/* Each string is different; they are stored in `texts`. */
static struct pawl_job full_job(char texts[PAWL__JOB_END][8])
{
    struct pawl_job job = pawl__job_empty;
    job.run = 77;
    for (size_t i = 0; i < PAWL__JOB_END; i++) {
        void *at = (char *)&job + pawl__job_fields[i].offset;
        snprintf(texts[i], sizeof texts[i], "\"%zu\"", i);
        if (pawl__job_fields[i].kind == PAWL__KIND_TEXT) *(const char **)at = texts[i];
        if (is_span(i)) *(struct pawl_span *)at = (struct pawl_span){ texts[i], strlen(texts[i]) };
    }
    return job;
}

static void a_copy_has_strings_of_its_own(void **state)
{
    (void)state;
    char texts[PAWL__JOB_END][8], want[8];
    struct pawl_job job = full_job(texts);
    size_t bytes = pawl__job_text_bytes(&job);
    char *room = malloc(bytes);
    assert_non_null(room);
    struct pawl_job copy = pawl__job_copy(&job, room);
    memset(texts, 'x', sizeof texts);
    assert_int_equal(copy.run, 77);
    for (size_t i = 0; i < PAWL__JOB_END; i++) {
        const void *at = value_of(&copy, i);
        const char *text = is_span(i) ? ((const struct pawl_span *)at)->at
                           : pawl__job_fields[i].kind == PAWL__KIND_TEXT ? *(const char *const *)at
                                                                         : NULL;
        if (!text) continue;
        snprintf(want, sizeof want, "\"%zu\"", i);
        assert_string_equal(text, want);
        assert_true(text >= room && text + strlen(text) < room + bytes);
    }
    free(room);
}

static void no_two_fields_have_one_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAWL__JOB_END; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(pawl__job_fields[i].column, pawl__job_fields[j].column);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_job_has_no_null),
        cmocka_unit_test(a_copy_has_strings_of_its_own),
        cmocka_unit_test(no_two_fields_have_one_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
