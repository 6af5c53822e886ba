/* What servers keep: its rules, through a real store in memory. What stores do with it is in
 * tests/contract. */
#include "api/test_kit.h"

enum { NAME_BYTES = 255, SCHEMA_BYTES = 1024 * 1024, RATE_BYTES = 64 * 1024 };

#define JSON(text)                                                                                 \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

static struct pawl *desk(void **state)
{
    return ((struct kit *)*state)->pawl;
}

/* A JSON string of so many bytes. */
static struct pawl_span long_json(size_t bytes)
{
    char *text = kit_repeat("s", bytes);
    text[0] = text[bytes - 1] = '"';
    return (struct pawl_span){ text, bytes };
}

static void schemas_are_added_listed_and_dropped(void **state)
{
    struct pawl_args_schemas found = { .at = NULL };
    struct pawl_args_schema by_uri = { .uri = "urn:a", .of_type = "mail", .schema = JSON("{}") };
    struct pawl_args_schema by_type = { .type = "mail", .version = "1", .schema = JSON("[1]") };
    KIT_OK(pawl_args_schema_add(desk(state), &by_uri, &diag));
    KIT_OK(pawl_args_schema_add(desk(state), &by_type, &diag));
    KIT_FAILS(pawl_args_schema_add(desk(state), &by_uri, &diag), PAWL_ERR_EXISTS, "uri");
    KIT_FAILS(pawl_args_schema_add(desk(state), &by_type, &diag), PAWL_ERR_EXISTS, "version");
    struct pawl_args_schema_filter filter = { .name = NULL };
    KIT_OK(pawl_args_schemas_get(desk(state), &filter, &found, &diag));
    KIT_OK(pawl_args_schema_drop(desk(state), &by_uri, &diag));
    KIT_FAILS(pawl_args_schema_drop(desk(state), &by_uri, &diag), PAWL_ERR_NOT_FOUND, "uri");
    assert_int_equal(found.count,
                     1); // the caller's until released, whatever happens to the store's
    assert_string_equal(found.at[0].uri, "urn:a");
    assert_string_equal(found.at[0].of_type, "mail");
    assert_string_equal(found.at[0].version, "");
    pawl_args_schemas_release(&found);
    pawl_args_schemas_release(&found);
    pawl_args_schemas_release(NULL);
    filter = (struct pawl_args_schema_filter){ .by_type = true, .name = "mail" };
    KIT_OK(pawl_args_schemas_get(desk(state), &filter, &found, &diag));
    assert_int_equal(found.count, 1);
    assert_int_equal(found.at[0].schema.len, 3);
    pawl_args_schemas_release(&found);
}

static void schemas_keep_their_rules(void **state)
{
    char *name = kit_repeat("n", NAME_BYTES + 1);
    struct pawl_span big = long_json(SCHEMA_BYTES + 1);
    const struct {
        struct pawl_args_schema schema;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { { .schema = JSON("{}") }, PAWL_ERR_ARG, "uri" },
        { { .uri = "", .schema = JSON("{}") }, PAWL_ERR_ARG, "uri" },
        { { .uri = "a\nb", .schema = JSON("{}") }, PAWL_ERR_ARG, "uri" },
        { { .uri = name, .schema = JSON("{}") }, PAWL_ERR_LIMIT, "uri" },
        { { .uri = "u", .type = "t", .schema = JSON("{}") }, PAWL_ERR_ARG, "uri" },
        { { .type = "t", .schema = JSON("{}") }, PAWL_ERR_ARG, "version" },
        { { .version = "1", .schema = JSON("{}") }, PAWL_ERR_ARG, "type" },
        { { .type = name, .version = "1", .schema = JSON("{}") }, PAWL_ERR_LIMIT, "type" },
        { { .type = "t", .version = name, .schema = JSON("{}") }, PAWL_ERR_LIMIT, "version" },
        { { .uri = "u", .of_type = name, .schema = JSON("{}") }, PAWL_ERR_LIMIT, "of_type" },
        { { .uri = "u", .of_version = "\xff", .schema = JSON("{}") }, PAWL_ERR_ARG, "of_version" },
        { { .uri = "u", .created_at_ms = -1, .schema = JSON("{}") },
          PAWL_ERR_ARG,
          "created_at_ms" },
        { { .uri = "u" }, PAWL_ERR_ARG, "schema" },
        { { .uri = "u", .schema = JSON("{") }, PAWL_ERR_ARG, "schema" },
        { { .uri = "u", .schema = big }, PAWL_ERR_LIMIT, "schema" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        print_message("# row %zu\n", i);
        KIT_FAILS(pawl_args_schema_add(desk(state), &rows[i].schema, &diag), rows[i].err,
                  rows[i].field);
    }
    name[NAME_BYTES] = '\0';
    struct pawl_span most = long_json(SCHEMA_BYTES);
    KIT_OK(pawl_args_schema_add(
        desk(state), &(struct pawl_args_schema){ .type = name, .version = name, .schema = most },
        &diag));
    KIT_FAILS(pawl_args_schema_drop(desk(state), &(struct pawl_args_schema){ .type = "t" }, &diag),
              PAWL_ERR_ARG, "version");
    free((char *)most.at);
    free((char *)big.at);
    free(name);
}

static void configurations_are_put_listed_and_dropped(void **state)
{
    struct pawl_queue_configs found = { .at = NULL };
    KIT_OK(pawl_queue_config_put(
        desk(state), &(struct pawl_queue_config){ .queue = "q", .rate_limit = JSON("{}") }, &diag));
    KIT_OK(pawl_queue_config_put(desk(state), &(struct pawl_queue_config){ .queue = "p" }, &diag));
    KIT_OK(pawl_queue_configs_get(desk(state), NULL, &found, &diag));
    assert_int_equal(found.count, 2);
    assert_string_equal(found.at[1].queue, "q");
    pawl_queue_configs_release(&found);
    pawl_queue_configs_release(&found);
    pawl_queue_configs_release(NULL);
    KIT_OK(pawl_queue_configs_get(desk(state), "p", &found, &diag));
    assert_int_equal(found.count, 1);
    assert_int_equal(found.at[0].rate_limit.len, 0);
    pawl_queue_configs_release(&found);
    KIT_OK(pawl_queue_config_drop(desk(state), "p", &diag));
    KIT_FAILS(pawl_queue_config_drop(desk(state), "p", &diag), PAWL_ERR_NOT_FOUND, "queue");
}

static void configurations_keep_their_rules(void **state)
{
    struct pawl_span big = long_json(RATE_BYTES + 1);
    const struct {
        struct pawl_queue_config config;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { { .queue = NULL }, PAWL_ERR_ARG, "queue" },
        { { .queue = "Q" }, PAWL_ERR_ARG, "queue" },
        { { .queue = "q", .rate_limit = JSON("1,") }, PAWL_ERR_ARG, "rate_limit" },
        { { .queue = "q", .rate_limit = big }, PAWL_ERR_LIMIT, "rate_limit" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        print_message("# row %zu\n", i);
        KIT_FAILS(pawl_queue_config_put(desk(state), &rows[i].config, &diag), rows[i].err,
                  rows[i].field);
    }
    KIT_FAILS(pawl_queue_config_drop(desk(state), "Q", &diag), PAWL_ERR_ARG, "queue");
    free((char *)big.at);
}

static void requests_are_noted_for_a_time(void **state)
{
    struct kit *kit = *state;
    KIT_OK(pawl_request_note(kit->pawl, "k", "one", 1000, &diag));
    KIT_OK(pawl_request_note(kit->pawl, "k", "one", 1000, &diag));
    KIT_FAILS(pawl_request_note(kit->pawl, "k", "two", 1000, &diag), PAWL_ERR_DUPLICATE,
              "idempotency_key");
    kit->now_ms += 1000;
    KIT_OK(pawl_request_note(kit->pawl, "k", "two", 1000, &diag));
}

static void requests_keep_their_rules(void **state)
{
    char *name = kit_repeat("n", NAME_BYTES + 1);
    const struct {
        const char *key, *fingerprint;
        int64_t kept_ms;
        enum pawl_err err;
        const char *field;
    } rows[] = {
        { NULL, "f", 1, PAWL_ERR_ARG, "idempotency_key" },
        { name, "f", 1, PAWL_ERR_LIMIT, "idempotency_key" },
        { "k", "", 1, PAWL_ERR_ARG, "fingerprint" },
        { "k", name, 1, PAWL_ERR_LIMIT, "fingerprint" },
        { "k", "f", 0, PAWL_ERR_ARG, "kept_ms" },
        { "k", "f", -1, PAWL_ERR_ARG, "kept_ms" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        print_message("# row %zu\n", i);
        KIT_FAILS(pawl_request_note(desk(state), rows[i].key, rows[i].fingerprint, rows[i].kept_ms,
                                    &diag),
                  rows[i].err, rows[i].field);
    }
    name[NAME_BYTES] = '\0';
    KIT_OK(pawl_request_note(desk(state), name, name, 1, &diag));
    free(name);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, kit_open, kit_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(schemas_are_added_listed_and_dropped),
        WITH_STORE(schemas_keep_their_rules),
        WITH_STORE(configurations_are_put_listed_and_dropped),
        WITH_STORE(configurations_keep_their_rules),
        WITH_STORE(requests_are_noted_for_a_time),
        WITH_STORE(requests_keep_their_rules),
    };
    return cmocka_run_group_tests_name("api/kept", tests, NULL, NULL);
}
