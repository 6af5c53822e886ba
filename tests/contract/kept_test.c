/* What servers keep with the store: schemas of arguments, the configuration of queues, the keys of
 * requests. */
#include "support/ops.h"

#include <semaphore.h>

#define SPAN(text)                                                                                 \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

static enum pawl_err do_op(struct rig *rig, struct pawl__op *op)
{
    op->diag = &rig->diag;
    enum pawl_err err = pawl__store_do(rig->store, op);
    rig_keep(rig, &op->arena);
    return err;
}

static void answered(struct pawl__op *op)
{
    sem_post(op->user);
}

/* All in one transaction, in order. */
static void do_list(struct rig *rig, struct pawl__op *ops, size_t count)
{
    sem_t answers;
    assert_int_equal(0, sem_init(&answers, 0, 0));
    for (size_t i = 0; i < count; i++) {
        ops[i].done = answered;
        ops[i].user = &answers;
        ops[i].next = i + 1 < count ? &ops[i + 1] : NULL;
    }
    pawl__store_post_list(rig->store, ops);
    for (size_t i = 0; i < count; i++)
        sem_wait(&answers);
    sem_destroy(&answers);
    for (size_t i = 0; i < count; i++)
        rig_keep(rig, &ops[i].arena);
}

/* ---- schemas of arguments ---- */

static struct pawl__op schema_op(enum pawl__op_kind kind, const struct pawl_args_schema *schema)
{
    return (struct pawl__op){ .kind = kind, .schema = schema };
}

static enum pawl_err schema_add(struct rig *rig, struct pawl_args_schema schema)
{
    if (!schema.schema.len) schema.schema = span_of("{}");
    struct pawl__op op = schema_op(PAWL__OP_SCHEMA_ADD, &schema);
    return do_op(rig, &op);
}

static enum pawl_err schema_drop(struct rig *rig, struct pawl_args_schema schema)
{
    struct pawl__op op = schema_op(PAWL__OP_SCHEMA_DROP, &schema);
    return do_op(rig, &op);
}

static struct pawl_args_schemas schemas_of(struct rig *rig, bool by_type, const char *name)
{
    struct pawl_args_schemas schemas = { 0 };
    const struct pawl_args_schema_filter filter = { .by_type = by_type, .name = name };
    assert_ok(rig, pawl__store_schemas(rig->store, &filter, &rig->arena, &schemas, &rig->diag));
    return schemas;
}

static void schemas_are_kept_as_they_came(struct rig *rig)
{
    assert_int_equal(0, schemas_of(rig, false, NULL).count);
    assert_int_equal(0, schemas_of(rig, true, NULL).count);
    assert_ok(rig, schema_add(rig, (struct pawl_args_schema){ .uri = "urn:it's \xc3\xa9",
                                                              .of_type = "mail.send",
                                                              .of_version = "7",
                                                              .created_at_ms = 5,
                                                              .schema = SPAN("{\"a\":[1]}") }));
    assert_ok(rig,
              schema_add(rig, (struct pawl_args_schema){
                                  .type = "mail.send", .version = "1", .schema = SPAN("[]") }));
    struct pawl_args_schemas found = schemas_of(rig, false, NULL);
    assert_int_equal(1, found.count);
    assert_text("urn:it's \xc3\xa9", found.at[0].uri);
    assert_text("", found.at[0].type);
    assert_text("", found.at[0].version);
    assert_text("mail.send", found.at[0].of_type);
    assert_text("7", found.at[0].of_version);
    assert_i64(5, found.at[0].created_at_ms);
    assert_span(span_of("{\"a\":[1]}"), found.at[0].schema);
    found = schemas_of(rig, true, NULL);
    assert_int_equal(1, found.count);
    assert_text("", found.at[0].uri);
    assert_text("mail.send", found.at[0].type);
    assert_text("1", found.at[0].version);
    assert_text("", found.at[0].of_type);
    assert_text("", found.at[0].of_version);
    assert_i64(0, found.at[0].created_at_ms);
}

static void schemas_are_listed_by_name(struct rig *rig)
{
    static const struct pawl_args_schema schemas[] = {
        { .uri = "b" }, { .type = "b", .version = "10" }, { .type = "b", .version = "9" },
        { .uri = "a" }, { .type = "bb", .version = "1" }, { .type = "a", .version = "1" },
    };
    for (size_t i = 0; i < COUNT(schemas); i++)
        assert_ok(rig, schema_add(rig, schemas[i]));
    struct pawl_args_schemas found = schemas_of(rig, false, NULL);
    assert_int_equal(2, found.count);
    assert_text("a", found.at[0].uri);
    assert_text("b", found.at[1].uri);
    found = schemas_of(rig, false, "b");
    assert_int_equal(1, found.count);
    assert_text("b", found.at[0].uri);
    assert_int_equal(0, schemas_of(rig, false, "bb").count); // it is a type
    found = schemas_of(rig, true, NULL);
    assert_int_equal(4, found.count);
    assert_text("a", found.at[0].type);
    assert_text("10", found.at[1].version);
    assert_text("9", found.at[2].version);
    assert_text("bb", found.at[3].type);
    found = schemas_of(rig, true, "b");
    assert_int_equal(2, found.count);
    assert_text("10", found.at[0].version);
    assert_text("9", found.at[1].version);
}

static void schema_is_added_once_and_dropped_once(struct rig *rig)
{
    struct pawl_args_schema by_uri = { .uri = "u" }, by_type = { .type = "t", .version = "1" };
    assert_err(rig, PAWL_ERR_NOT_FOUND, schema_drop(rig, by_uri));
    assert_err(rig, PAWL_ERR_NOT_FOUND, schema_drop(rig, by_type));
    assert_ok(rig, schema_add(rig, by_uri));
    assert_ok(rig, schema_add(rig, by_type));
    assert_err(rig, PAWL_ERR_EXISTS, schema_add(rig, by_uri));
    assert_err(rig, PAWL_ERR_EXISTS, schema_add(rig, by_type));
    by_uri.of_type = "other"; // it says no more than what it is about
    assert_err(rig, PAWL_ERR_EXISTS, schema_add(rig, by_uri));
    assert_err(rig, PAWL_ERR_NOT_FOUND,
               schema_drop(rig, (struct pawl_args_schema){ .type = "t", .version = "2" }));
    assert_ok(rig, schema_drop(rig, by_uri));
    assert_err(rig, PAWL_ERR_NOT_FOUND, schema_drop(rig, by_uri));
    assert_int_equal(0, schemas_of(rig, false, NULL).count);
    assert_int_equal(1, schemas_of(rig, true, NULL).count);
    assert_ok(rig, schema_add(rig, by_uri));
    assert_text("other", schemas_of(rig, false, "u").at[0].of_type);
}

static void schemas_of_one_transaction_see_each_other(struct rig *rig)
{
    static const struct pawl_args_schema old = { .uri = "u", .schema = SPAN("1") },
                                         new = { .uri = "u", .schema = SPAN("2") },
                                         gone = { .type = "t",
                                                  .version = "1",
                                                  .schema = SPAN("3") };
    assert_ok(rig, schema_add(rig, old));
    struct pawl__op ops[] = {
        schema_op(PAWL__OP_SCHEMA_ADD, &new),  schema_op(PAWL__OP_SCHEMA_DROP, &old),
        schema_op(PAWL__OP_SCHEMA_DROP, &old), schema_op(PAWL__OP_SCHEMA_ADD, &new),
        schema_op(PAWL__OP_SCHEMA_ADD, &gone), schema_op(PAWL__OP_SCHEMA_DROP, &gone),
    };
    static const enum pawl_err errs[] = { PAWL_ERR_EXISTS, PAWL_OK, PAWL_ERR_NOT_FOUND,
                                          PAWL_OK,         PAWL_OK, PAWL_OK };
    do_list(rig, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_int_equal(errs[i], ops[i].err);
    assert_int_equal(0, schemas_of(rig, true, NULL).count);
    assert_span(span_of("2"), schemas_of(rig, false, "u").at[0].schema);
}

static void large_schema_comes_back_whole(struct rig *rig)
{
    enum { BYTES = 1024 * 1024 };
    struct pawl_span text = rig_multibyte(rig, BYTES - 2, false);
    char *json = pawl__arena_calloc(&rig->arena, 1, BYTES);
    assert_non_null(json);
    json[0] = json[text.len + 1] = '"';
    memcpy(json + 1, text.at, text.len);
    struct pawl_span big = { json, text.len + 2 };
    assert_ok(rig, schema_add(rig, (struct pawl_args_schema){ .uri = "u", .schema = big }));
    assert_span(big, schemas_of(rig, false, "u").at[0].schema);
}

/* ---- configuration of queues ---- */

static enum pawl_err config_put(struct rig *rig, const char *queue, const char *rate_limit)
{
    const struct pawl_queue_config config = { queue, span_of(rate_limit) };
    struct pawl__op op = { .kind = PAWL__OP_CONFIG_PUT, .config = &config };
    return do_op(rig, &op);
}

static enum pawl_err config_drop(struct rig *rig, const char *queue)
{
    const struct pawl_queue_config config = { .queue = queue };
    struct pawl__op op = { .kind = PAWL__OP_CONFIG_DROP, .config = &config };
    return do_op(rig, &op);
}

static struct pawl_queue_configs configs_of(struct rig *rig, const char *queue)
{
    struct pawl_queue_configs configs = { 0 };
    assert_ok(rig, pawl__store_configs(rig->store, queue, &rig->arena, &configs, &rig->diag));
    return configs;
}

static void configuration_is_put_replaced_and_dropped(struct rig *rig)
{
    assert_int_equal(0, configs_of(rig, NULL).count);
    assert_err(rig, PAWL_ERR_NOT_FOUND, config_drop(rig, "q"));
    assert_ok(rig, config_put(rig, "q", "{\"limit\":1}"));
    assert_ok(rig, config_put(rig, "qq", ""));
    assert_ok(rig, config_put(rig, "p", "2"));
    struct pawl_queue_configs found = configs_of(rig, NULL);
    assert_int_equal(3, found.count);
    assert_text("p", found.at[0].queue);
    assert_text("q", found.at[1].queue);
    assert_span(span_of("{\"limit\":1}"), found.at[1].rate_limit);
    assert_text("qq", found.at[2].queue);
    assert_int_equal(0, found.at[2].rate_limit.len);
    assert_ok(rig, config_put(rig, "q", ""));
    found = configs_of(rig, "q");
    assert_int_equal(1, found.count);
    assert_int_equal(0, found.at[0].rate_limit.len);
    assert_ok(rig, config_put(rig, "q", "3"));
    assert_span(span_of("3"), configs_of(rig, "q").at[0].rate_limit);
    assert_ok(rig, config_drop(rig, "q"));
    assert_err(rig, PAWL_ERR_NOT_FOUND, config_drop(rig, "q"));
    assert_int_equal(0, configs_of(rig, "q").count);
    assert_int_equal(2, configs_of(rig, NULL).count);
}

/* What a server observes does not make a queue, nor does its end take one away. */
static void configuration_leaves_the_queue_alone(struct rig *rig)
{
    assert_ok(rig, config_put(rig, "unused", "1"));
    assert_int_equal(0, stats_of(rig).queue_count);
    submit_one(rig, &(struct pawl_job_spec){ .queue = "used" });
    assert_ok(rig, config_put(rig, "used", "1"));
    assert_ok(rig, config_drop(rig, "used"));
    assert_int_equal(1, stats_of(rig).queue_count);
}

static void configurations_of_one_transaction_see_each_other(struct rig *rig)
{
    static const struct pawl_queue_config first = { "q", SPAN("1") }, second = { "q", SPAN("2") },
                                          gone = { "p", SPAN("3") };
    struct pawl__op ops[] = {
        { .kind = PAWL__OP_CONFIG_PUT, .config = &first },
        { .kind = PAWL__OP_CONFIG_PUT, .config = &gone },
        { .kind = PAWL__OP_CONFIG_PUT, .config = &second },
        { .kind = PAWL__OP_CONFIG_DROP, .config = &gone },
        { .kind = PAWL__OP_CONFIG_DROP, .config = &gone },
    };
    do_list(rig, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_int_equal(i == 4 ? PAWL_ERR_NOT_FOUND : PAWL_OK, ops[i].err);
    struct pawl_queue_configs found = configs_of(rig, NULL);
    assert_int_equal(1, found.count);
    assert_span(span_of("2"), found.at[0].rate_limit);
}

/* ---- keys of requests ---- */

static struct pawl__op request_op(const char *key, const char *fingerprint, int64_t kept_ms)
{
    return (struct pawl__op){ .kind = PAWL__OP_REQUEST_NOTE,
                              .request = { key, fingerprint, kept_ms } };
}

static enum pawl_err note(struct rig *rig, const char *key, const char *fingerprint,
                          int64_t kept_ms)
{
    struct pawl__op op = request_op(key, fingerprint, kept_ms);
    return do_op(rig, &op);
}

static void key_is_of_one_request_as_long_as_it_is_kept(struct rig *rig)
{
    assert_ok(rig, note(rig, "k", "one", 1000));
    assert_ok(rig, note(rig, "k", "one", 1000));
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "k", "two", 1000));
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "k", "onee", 1000));
    assert_ok(rig, note(rig, "l", "two", 1000));
    rig_advance(rig, 999);
    assert_ok(rig, note(rig, "k", "one", 1000)); // a repeat, which does not extend its time
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "k", "two", 1000));
    rig_advance(rig, 1);
    assert_ok(rig, note(rig, "k", "two", 1000));
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "k", "one", 1000));
    rig_advance(rig, 1000);
    assert_ok(rig, note(rig, "k", "two", 1000)); // again for a whole time
    rig_advance(rig, 999);
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "k", "one", 1000));
}

/* What is stored shows when the clock is put back: then it is in force again. */
static void sweep_forgets_keys_of_requests_whose_time_is_over(struct rig *rig)
{
    assert_ok(rig, note(rig, "swept", "one", 10));
    assert_ok(rig, note(rig, "lasts", "one", 1000));
    rig_advance(rig, 10);
    expire(rig);
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "lasts", "two", 1000));
    rig_advance(rig, -1);
    assert_ok(rig, note(rig, "swept", "two", 10));
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "swept", "one", 10));
    rig_advance(rig, 10); // over, but not swept
    rig_advance(rig, -1);
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "swept", "one", 10));
}

/* A job may have the same key: it is of another kind. */
static void keys_of_requests_are_no_keys_of_jobs(struct rig *rig)
{
    assert_ok(rig, note(rig, "k", "one", 1000));
    struct pawl_job_spec spec = { .idempotency_key = "k", .business_key = "k" };
    struct pawl_job_id id = submit_one(rig, &spec);
    assert_state(AVAILABLE, state_of(rig, id));
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "k", "two", 1000));
}

static void requests_of_one_transaction_see_each_other(struct rig *rig)
{
    struct pawl__op ops[] = { request_op("k", "one", 1000), request_op("k", "two", 1000),
                              request_op("k", "one", 1000), request_op("l", "two", 1000) };
    do_list(rig, ops, COUNT(ops));
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_int_equal(i == 1 ? PAWL_ERR_DUPLICATE : PAWL_OK, ops[i].err);
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "l", "one", 1000));
}

static void what_is_kept_outlives_a_restart(struct rig *rig)
{
    assert_ok(rig, schema_add(rig, (struct pawl_args_schema){ .uri = "u" }));
    assert_ok(rig, config_put(rig, "q", "1"));
    assert_ok(rig, note(rig, "k", "one", 1000));
    rig_reopen(rig);
    assert_int_equal(1, schemas_of(rig, false, "u").count);
    assert_int_equal(1, configs_of(rig, "q").count);
    assert_err(rig, PAWL_ERR_DUPLICATE, note(rig, "k", "two", 1000));
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT(schemas_are_kept_as_they_came),
        CONTRACT(schemas_are_listed_by_name),
        CONTRACT(schema_is_added_once_and_dropped_once),
        CONTRACT(schemas_of_one_transaction_see_each_other),
        CONTRACT(large_schema_comes_back_whole),
        CONTRACT(configuration_is_put_replaced_and_dropped),
        CONTRACT(configuration_leaves_the_queue_alone),
        CONTRACT(configurations_of_one_transaction_see_each_other),
        CONTRACT(key_is_of_one_request_as_long_as_it_is_kept),
        CONTRACT(sweep_forgets_keys_of_requests_whose_time_is_over),
        CONTRACT(keys_of_requests_are_no_keys_of_jobs),
        CONTRACT(requests_of_one_transaction_see_each_other),
        CONTRACT_SHARED(what_is_kept_outlives_a_restart),
    };
    return contract_run("kept", tests, COUNT(tests));
}
