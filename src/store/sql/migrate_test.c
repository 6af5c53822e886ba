/* The walk of migrations, over a store that is an array. */
#include "store/sql/migrate.h"

#include "base/diag.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

struct row {
    int64_t version;
    char checksum[PAWL__CHECKSUM_BYTES];
    bool compatible;
};

struct store {
    struct row rows[8];
    size_t count, kept; /* `kept` are committed */
    char ran[64];       /* the texts, one after another */
    const char *breaks; /* the text that cannot be run: */
    bool stands;        /* it could, if "clear" had been run */
    size_t rivals;      /* rows that another process adds before we begin */
    bool open;
    struct pawl__script_row script, script_kept;
};

static void add(struct store *store, const struct pawl__migration_row *row)
{
    struct row *to = &store->rows[store->count++];
    *to = (struct row){ .version = row->version, .compatible = row->compatible };
    snprintf(to->checksum, sizeof to->checksum, "%s", row->checksum);
}

static enum pawl_err list(void *conn, struct pawl__applied *applied, struct pawl_diag *diag)
{
    (void)diag;
    const struct store *store = conn;
    for (size_t i = 0; i < store->count; i++) {
        const struct row *row = &store->rows[i];
        pawl__applied_add(
            applied, &(struct pawl__migration_row){ row->version, row->checksum, row->compatible });
    }
    return PAWL_OK;
}

static enum pawl_err begin(void *conn, struct pawl_diag *diag)
{
    (void)diag;
    struct store *store = conn;
    assert_false(store->open);
    store->open = true;
    store->count = store->kept += store->rivals;
    return PAWL_OK;
}

static enum pawl_err run(void *conn, const char *text, struct pawl_diag *diag)
{
    struct store *store = conn;
    assert_true(store->open);
    if (store->breaks && strcmp(store->breaks, text) == 0) {
        return pawl__fail(diag, store->stands ? PAWL_ERR_SCHEMA : PAWL_ERR_IO, "broken");
    }
    if (store->stands && strcmp(text, "clear") == 0) store->breaks = NULL;
    snprintf(store->ran + strlen(store->ran), sizeof store->ran - strlen(store->ran), "%s ", text);
    return PAWL_OK;
}

static enum pawl_err record(void *conn, const struct pawl__migration_row *row,
                            struct pawl_diag *diag)
{
    (void)diag;
    add(conn, row);
    return PAWL_OK;
}

static enum pawl_err commit(void *conn, struct pawl_diag *diag)
{
    (void)diag;
    struct store *store = conn;
    store->kept = store->count;
    store->script_kept = store->script;
    store->open = false;
    return PAWL_OK;
}

static void rollback(void *conn)
{
    struct store *store = conn;
    store->count = store->kept;
    store->script = store->script_kept;
    store->open = false;
}

static enum pawl_err script_get(void *conn, struct pawl__script_row *out, struct pawl_diag *diag)
{
    (void)diag;
    *out = ((const struct store *)conn)->script;
    return PAWL_OK;
}

static enum pawl_err script_put(void *conn, const struct pawl__script_row *row,
                                struct pawl_diag *diag)
{
    (void)diag;
    ((struct store *)conn)->script = *row;
    return PAWL_OK;
}

static const struct pawl__migration migrations[] = { { "one", false },
                                                     { "two", true },
                                                     { "three", false } };

static struct pawl__migrator knowing(int32_t newest, bool rolling)
{
    return (struct pawl__migrator){ .migrations = migrations,
                                    .newest = newest,
                                    .rolling = rolling,
                                    .list = list,
                                    .begin = begin,
                                    .run = run,
                                    .record = record,
                                    .commit = commit,
                                    .rollback = rollback };
}

static void upgrade(struct store *store, int32_t newest)
{
    struct pawl__migrator migrator = knowing(newest, true);
    assert_int_equal(PAWL_OK, pawl__schema_upgrade(&migrator, store, NULL));
    assert_int_equal(newest, (int)store->kept);
}

static void expect_refusal(struct store *store, int32_t newest, bool rolling, const char *text)
{
    struct pawl__migrator migrator = knowing(newest, rolling);
    struct pawl_schema schema;
    struct pawl_diag diag;
    assert_int_equal(PAWL_ERR_SCHEMA, pawl__schema_read(&migrator, store, &schema, &diag));
    assert_string_equal(diag.text, text);
    assert_int_equal(PAWL_ERR_SCHEMA, pawl__schema_upgrade(&migrator, store, &diag));
    assert_false(store->open);
}

static void missing_ones_are_applied_in_order(void **ctx)
{
    (void)ctx;
    struct store store = { 0 };
    upgrade(&store, 1);
    assert_string_equal(store.ran, "one ");
    upgrade(&store, 3);
    assert_string_equal(store.ran, "one two three ");
    upgrade(&store, 3);
    assert_string_equal(store.ran, "one two three ");
    assert_true(store.rows[1].compatible);
    assert_false(store.rows[2].compatible);
}

static void what_another_process_applied_is_not_applied_again(void **ctx)
{
    (void)ctx;
    struct store store = { 0 };
    upgrade(&store, 2);
    store.count = store.kept = 0; // as seen before it committed
    store.rivals = 2;
    store.ran[0] = '\0';
    upgrade(&store, 3);
    assert_string_equal(store.ran, "three ");
}

static void failure_leaves_the_old_version(void **ctx)
{
    (void)ctx;
    struct store store = { 0 };
    upgrade(&store, 1);
    store.breaks = "three";
    struct pawl__migrator migrator = knowing(3, true);
    struct pawl_diag diag;
    assert_int_equal(PAWL_ERR_IO, pawl__schema_upgrade(&migrator, &store, &diag));
    assert_int_equal(1, (int)store.count);
    assert_false(store.open);
}

static void changed_one_is_refused(void **ctx)
{
    (void)ctx;
    struct store store = { 0 };
    upgrade(&store, 3);
    store.rows[1].checksum[0] ^= 1;
    expect_refusal(&store, 3, true,
                   "migration 2 of the store is not the one this program knows; use the pawl that "
                   "made the store, or a backup");
    store.rows[0].version = 0; // the first is the one to report
    expect_refusal(&store, 3, true,
                   "migration 0 of the store is not the one this program knows; use the pawl that "
                   "made the store, or a backup");
}

static void newer_store_is_refused(void **ctx)
{
    (void)ctx;
    struct store store = { 0 };
    upgrade(&store, 3);
    expect_refusal(&store, 2, false,
                   "the store has schema version 3, this program knows up to 2; use a newer pawl");
    expect_refusal(&store, 2, true,
                   "the store has schema version 3, this program knows up to 2, and the step "
                   "between them is not compatible; use a newer pawl");
    expect_refusal(&store, 1, true,
                   "the store has schema version 3, this program knows up to 1, and that is more "
                   "than one step; use a newer pawl");
}

static void one_compatible_step_ahead_is_taken_where_upgrades_roll(void **ctx)
{
    (void)ctx;
    struct store store = { 0 };
    struct pawl_schema schema;
    struct pawl__migrator rolling = knowing(1, true);
    upgrade(&store, 2);
    assert_int_equal(PAWL_OK, pawl__schema_read(&rolling, &store, &schema, NULL));
    assert_int_equal(2, schema.version);
    assert_int_equal(1, schema.newest);
    expect_refusal(&store, 1, false,
                   "the store has schema version 2, this program knows up to 1; use a newer pawl");
}

/* ---- the script ---- */

static struct pawl__migrator scripted(const struct pawl__script *script)
{
    struct pawl__migrator migrator = knowing(1, true);
    migrator.script = script;
    migrator.script_get = script_get;
    migrator.script_put = script_put;
    return migrator;
}

/* What opening does; gives the texts that it ran. */
static const char *open_with(struct store *store, const struct pawl__script *script)
{
    struct pawl__migrator migrator = scripted(script);
    struct pawl_schema schema;
    store->ran[0] = '\0';
    assert_int_equal(PAWL_OK, pawl__schema_read(&migrator, store, &schema, NULL));
    if (schema.version < schema.newest || schema.script_old) {
        assert_int_equal(PAWL_OK, pawl__schema_upgrade(&migrator, store, NULL));
        assert_int_equal(PAWL_OK, pawl__schema_read(&migrator, store, &schema, NULL));
        assert_false(schema.script_old);
    }
    return store->ran;
}

static const char *const plain[] = { "a", "b" }, *const edited[] = { "a", "c" };
static const struct pawl__script first = { plain, 2, "0.9.10" }, same = { edited, 2, "0.9.10" },
                                 later = { plain, 2, "0.10.2" };

static struct store owned(void)
{
    return (struct store){ .script.may = true, .script_kept.may = true };
}

static void script_runs_when_its_text_differs(void **ctx)
{
    (void)ctx;
    struct store store = owned();
    assert_string_equal(open_with(&store, &first), "one a b ");
    assert_string_equal(open_with(&store, &first), "");
    assert_string_equal(open_with(&store, &same), "a c ");
    assert_string_equal(open_with(&store, &first), "a b ");
}

static void script_of_a_newer_program_stays(void **ctx)
{
    (void)ctx;
    struct store store = owned();
    open_with(&store, &first);
    assert_string_equal(open_with(&store, &later), "a b "); // it is recorded as that one's
    assert_string_equal(store.script.version, "0.10.2");
    assert_string_equal(open_with(&store, &same), "");
    struct pawl__migrator older = scripted(&same);
    assert_int_equal(PAWL_OK, pawl__schema_upgrade(&older, &store, NULL)); // under the lock too
    assert_string_equal(store.ran, "");
}

static void script_stays_where_the_schema_is_ahead(void **ctx)
{
    (void)ctx;
    struct store store = owned();
    upgrade(&store, 2);
    assert_string_equal(open_with(&store, &later), "");
    assert_string_equal(store.script.version, "");
}

static void script_stays_where_it_may_not_be_changed(void **ctx)
{
    (void)ctx;
    struct store store = { 0 };
    upgrade(&store, 1);
    assert_string_equal(open_with(&store, &first), "");
}

static void script_that_fails_leaves_the_old_one(void **ctx)
{
    (void)ctx;
    struct store store = owned();
    open_with(&store, &first);
    store.breaks = "c";
    struct pawl__migrator migrator = scripted(&same);
    struct pawl_diag diag;
    struct pawl__script_row before = store.script;
    assert_int_equal(PAWL_ERR_IO, pawl__schema_upgrade(&migrator, &store, &diag));
    assert_false(store.open);
    assert_memory_equal(&before, &store.script, sizeof before);
}

static void script_that_cannot_replace_runs_again_after_clearing(void **ctx)
{
    (void)ctx;
    const struct pawl__script clears = { edited, 2, "0.9.10", "clear" };
    struct store store = owned();
    open_with(&store, &first);
    store.breaks = "c";
    store.stands = true;
    assert_string_equal(open_with(&store, &clears), "a a clear c ");
    store.breaks = "a";
    store.script.checksum[0] = store.script_kept.checksum[0] = 'x';
    struct pawl__migrator migrator = scripted(&clears);
    assert_int_equal(PAWL_ERR_SCHEMA, pawl__schema_upgrade(&migrator, &store, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_ones_are_applied_in_order),
        cmocka_unit_test(what_another_process_applied_is_not_applied_again),
        cmocka_unit_test(failure_leaves_the_old_version),
        cmocka_unit_test(changed_one_is_refused),
        cmocka_unit_test(newer_store_is_refused),
        cmocka_unit_test(one_compatible_step_ahead_is_taken_where_upgrades_roll),
        cmocka_unit_test(script_runs_when_its_text_differs),
        cmocka_unit_test(script_of_a_newer_program_stays),
        cmocka_unit_test(script_stays_where_the_schema_is_ahead),
        cmocka_unit_test(script_stays_where_it_may_not_be_changed),
        cmocka_unit_test(script_that_fails_leaves_the_old_one),
        cmocka_unit_test(script_that_cannot_replace_runs_again_after_clearing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
