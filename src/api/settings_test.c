/* Settings, through a real store in memory. */
#include "api/test_kit.h"

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

static void put(struct pawl *pawl, const char *name, const char *value)
{
    KIT_OK(pawl_setting_put(pawl, name, value, &diag));
}

static void settings_are_put_listed_replaced_and_forgotten(void **state)
{
    struct pawl_settings found = { .at = NULL };
    KIT_OK(pawl_settings_get(desk(state), "", &found, &diag));
    assert_int_equal(found.count, 0);
    pawl_settings_release(&found);
    put(desk(state), "web.theme", "dark");
    put(desk(state), "web.lines", "50");
    put(desk(state), "other", "text of\nmany lines, \xc3\xa9");
    put(desk(state), "web.theme", "light");
    KIT_OK(pawl_settings_get(desk(state), "web.", &found, &diag));
    assert_int_equal(found.count, 2);
    assert_string_equal(found.at[0].name, "web.lines");
    assert_string_equal(found.at[0].value, "50");
    assert_string_equal(found.at[1].name, "web.theme");
    assert_string_equal(found.at[1].value, "light");
    pawl_settings_release(&found);
    assert_null(found.at);
    assert_int_equal(found.count, 0);
    pawl_settings_release(&found);
    pawl_settings_release(NULL);
    put(desk(state), "web.theme", NULL);
    put(desk(state), "web.theme", NULL); // gone is gone
    put(desk(state), "web.lines", "");
    KIT_OK(pawl_settings_get(desk(state), "", &found, &diag));
    assert_int_equal(found.count, 2);
    assert_string_equal(found.at[0].name, "other");
    assert_string_equal(found.at[0].value, "text of\nmany lines, \xc3\xa9");
    assert_string_equal(found.at[1].name, "web.lines");
    assert_string_equal(found.at[1].value, "");
    pawl_settings_release(&found);
}

/* They are the caller's until released, whatever happens to the store's. */
static void list_stays_as_it_was_read(void **state)
{
    struct pawl_settings found = { .at = NULL };
    put(desk(state), "a", "1");
    KIT_OK(pawl_settings_get(desk(state), "a", &found, &diag));
    put(desk(state), "a", "2");
    assert_string_equal(found.at[0].value, "1");
    pawl_settings_release(&found);
}

static void settings_keep_their_rules(void **state)
{
    enum { NAME_MAX_BYTES = 255, VALUE_MAX_BYTES = 1024 * 1024 };
    char *name = kit_repeat("n", NAME_MAX_BYTES + 1);
    char *value = kit_repeat("v", VALUE_MAX_BYTES + 1);
    const struct {
        const char *name, *value;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { NULL, "v", PAWL_ERR_ARG, "name" },
        { "", "v", PAWL_ERR_ARG, "name" },
        { "a\nb", "v", PAWL_ERR_ARG, "name" },
        { "\xff", "v", PAWL_ERR_ARG, "name" },
        { name, "v", PAWL_ERR_LIMIT, "name" },
        { name, NULL, PAWL_ERR_LIMIT, "name" },
        { "a", value, PAWL_ERR_LIMIT, "value" },
        { "a", "\xc3", PAWL_ERR_ARG, "value" },
        { "a", "\xed\xa0\x80", PAWL_ERR_ARG, "value" },
    };
    struct pawl_settings found = { .at = NULL };
    for (size_t i = 0; i < COUNT(rows); i++) {
        print_message("# row %zu\n", i);
        KIT_FAILS(pawl_setting_put(desk(state), rows[i].name, rows[i].value, &diag), rows[i].err,
                  rows[i].field);
    }
    assert_int_not_equal(pawl_setting_put(desk(state), NULL, NULL, NULL), PAWL_OK);
    KIT_OK(pawl_settings_get(desk(state), "", &found, &diag));
    assert_int_equal(found.count, 0);
    pawl_settings_release(&found);
    name[NAME_MAX_BYTES] = value[VALUE_MAX_BYTES] = '\0';
    put(desk(state), name, value);
    KIT_OK(pawl_settings_get(desk(state), name, &found, &diag));
    assert_int_equal(found.count, 1);
    assert_string_equal(found.at[0].name, name);
    assert_string_equal(found.at[0].value, value);
    pawl_settings_release(&found);
    free(value);
    free(name);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(settings_are_put_listed_replaced_and_forgotten),
        WITH_STORE(list_stays_as_it_was_read),
        WITH_STORE(settings_keep_their_rules),
    };
    return cmocka_run_group_tests_name("api/settings", tests, NULL, NULL);
}
