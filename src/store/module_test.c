/* URLs whose store is a module: what is said when it is not there. */
#include "store/backend.h"
#include "store/wake.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void other_schemes_are_no_modules(void **state)
{
    (void)state;
    const struct pawl__backend_table *table = NULL;
    struct pawl_diag diag = { 0 };
    static const char *const urls[] = { "sqlite:pawl.db", "postgres:", "mysql://host/db", "" };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        assert_int_equal(PAWL_OK, pawl__store_module_find(urls[i], &table, &diag));
        assert_null(table);
    }
}

static void missing_module_is_named_with_the_way_to_it(void **state)
{
    (void)state;
    static const char *const urls[] = { "postgres://me:secret@host/db", "postgresql://host/db" };
    setenv("PAWL_MODULE_DIR", "/nowhere", 1);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        const struct pawl__backend_table *table = NULL;
        struct pawl_diag diag = { 0 };
        assert_int_equal(PAWL_ERR_UNSUPPORTED, pawl__store_module_find(urls[i], &table, &diag));
        assert_string_equal("store", diag.field);
        assert_non_null(strstr(diag.text, "/nowhere/pawl-postgres.so"));
        assert_non_null(strstr(diag.text, "set PAWL_MODULE_DIR"));
        assert_null(strstr(diag.text, "is libpq installed?"));
        assert_null(strstr(diag.text, "secret"));
    }
    unsetenv("PAWL_MODULE_DIR");
}

static void missing_way_to_wake_is_named_with_the_way_to_it(void **state)
{
    (void)state;
    static const char *const urls[] = { "redis://:secret@host", "rediss://:secret@host",
                                        "redis+unix://:secret@/run/redis.sock" };
    const struct pawl__wake_module *module = NULL;
    struct pawl_diag diag = { 0 };
    assert_int_equal(PAWL_OK, pawl__wake_module_find("mqtt://host", &module, &diag));
    assert_null(module);
    setenv("PAWL_MODULE_DIR", "/nowhere", 1);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        assert_int_equal(PAWL_ERR_UNSUPPORTED, pawl__wake_module_find(urls[i], &module, &diag));
        assert_string_equal("wake", diag.field);
        assert_non_null(strstr(diag.text, "/nowhere/pawl-redis.so"));
        assert_non_null(strstr(diag.text, "set PAWL_MODULE_DIR"));
        assert_null(strstr(diag.text, "secret"));
        assert_null(module);
    }
    unsetenv("PAWL_MODULE_DIR");
}

/* The file is there; what it needs is not, as far as the loader is concerned. */
static void module_that_does_not_load_says_what_it_needs(void **state)
{
    (void)state;
    char dir[] = "/tmp/pawl-module-XXXXXX", file[64];
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/pawl-postgres.so", dir);
    FILE *broken = fopen(file, "w");
    assert_non_null(broken);
    fclose(broken);
    setenv("PAWL_MODULE_DIR", dir, 1);
    const struct pawl__backend_table *table = NULL;
    struct pawl_diag diag = { 0 };
    assert_int_equal(PAWL_ERR_UNSUPPORTED, pawl__store_module_find("postgres://h", &table, &diag));
    assert_non_null(strstr(diag.text, "could not load its module"));
    assert_non_null(strstr(diag.text, "is libpq installed?"));
    assert_null(strstr(diag.text, "PAWL_MODULE_DIR"));
    unsetenv("PAWL_MODULE_DIR");
    unlink(file);
    rmdir(dir);
}

/* Any shared object that is not ours will do: the C library's. */
static void stranger_is_refused(void **state)
{
    (void)state;
    char dir[] = "/tmp/pawl-module-XXXXXX", file[64];
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/pawl-postgres.so", dir);
    Dl_info stranger;
    assert_int_not_equal(0, dladdr((void *)(uintptr_t)strstr, &stranger));
    assert_int_equal(0, symlink(stranger.dli_fname, file));
    setenv("PAWL_MODULE_DIR", dir, 1);
    const struct pawl__backend_table *table = NULL;
    struct pawl_diag diag = { 0 };
    assert_int_equal(PAWL_ERR_UNSUPPORTED, pawl__store_module_find("postgres://h", &table, &diag));
    assert_non_null(strstr(diag.text, "belongs to another pawl"));
    unsetenv("PAWL_MODULE_DIR");
    unlink(file);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_schemes_are_no_modules),
        cmocka_unit_test(missing_module_is_named_with_the_way_to_it),
        cmocka_unit_test(missing_way_to_wake_is_named_with_the_way_to_it),
        cmocka_unit_test(module_that_does_not_load_says_what_it_needs),
        cmocka_unit_test(stranger_is_refused),
    };
    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
