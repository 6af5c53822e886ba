/* Modules, backends and ways to wake others: found by the URL's scheme, loaded when first asked
 * for.
 *
 * They are looked for in the directory that PAWL_MODULE_DIR names, if it is set; else where the
 * program has them near it, in the tree that it was built in or in an installed one wherever that
 * lies; else where they were to be installed. A program that runs with more rights than its user
 * looks only there. */
#include "base/diag.h"
#include "store/backend.h"
#include "store/wake.h"

#include "store_paths.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* All that is known of stores without opening one: scheme, name, and of a module its file and the
 * library that it needs, and further members of struct pawl__scheme */
#define STORES(X)                                                                                  \
    X("sqlite:", "sqlite", NULL, NULL, .is_file = true)                                            \
    X("postgres://", "postgres", "pawl-postgres.so", "libpq", .served_by = "PostgreSQL")           \
    X("postgresql://", "postgres", "pawl-postgres.so", "libpq", .served_by = "PostgreSQL")         \
    X("http://", "http", "pawl-remote.so", "libcurl", .served_by = NULL)                           \
    X("https://", "http", "pawl-remote.so", "libcurl", .served_by = NULL)

/* scheme, file, the library that it needs */
#define WAKE_MODULES(X)                                                                            \
    X("redis://", "pawl-redis.so", "hiredis")                                                      \
    X("rediss://", "pawl-redis.so", "hiredis")                                                     \
    X("redis+unix://", "pawl-redis.so", "hiredis")

struct module {
    const char *scheme, *file, *needs;
};

/* A sort of modules. */
struct shelf {
    const char *field, *noun; /* of what it is asked for */
    const char *symbol;       /* that each of them has */
    const struct module *modules;
    size_t count;
};

enum { PATH_BYTES = 4096 };

#define STRANGER "the module belongs to another pawl; use one that was built with this program"

static enum pawl_err refuse(const struct shelf *shelf, const struct module *module, const char *why,
                            struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, shelf->field, "cannot use %s \"%s...\": %s",
                            shelf->noun, module->scheme, why);
}

static enum pawl_err refuse_missing(const struct shelf *shelf, const struct module *module,
                                    const char *path, struct pawl_diag *diag)
{
    char why[PATH_BYTES + 256];
    snprintf(why, sizeof why,
             "there is no module \"%s\"; set PAWL_MODULE_DIR if it is elsewhere; a pawl that was "
             "built without %s has none",
             path, module->needs);
    return refuse(shelf, module, why, diag);
}

static enum pawl_err refuse_unloadable(const struct shelf *shelf, const struct module *module,
                                       const char *error, struct pawl_diag *diag)
{
    char why[PATH_BYTES + 256];
    snprintf(why, sizeof why, "could not load its module: %s; is %s installed?", error,
             module->needs);
    return refuse(shelf, module, why, diag);
}

/* ---- where it is ---- */

/* False: no such file. */
static bool put_path(char path[PATH_BYTES], const char *dir, size_t len, const char *below,
                     const char *file)
{
    int wanted = snprintf(path, PATH_BYTES, "%.*s%s/%s", (int)len, dir, below, file);
    return wanted < PATH_BYTES && access(path, R_OK) == 0;
}

static bool is_near_program(const char *file, char path[PATH_BYTES])
{
    static const char *const below[] = { "src/store", PAWL_MODULE_DIR_FROM_BIN };
    char program[PATH_BYTES];
    ssize_t len = getauxval(AT_SECURE) ? -1 : readlink("/proc/self/exe", program, sizeof program);
    while (len > 0 && program[len - 1] != '/') {
        len--;
    }
    for (size_t i = 0; len > 0 && i < sizeof below / sizeof below[0]; i++) {
        if (put_path(path, program, (size_t)len, below[i], file)) return true;
    }
    return false;
}

/* False: it is not at `path`, where it should be. */
static bool locate(const char *file, char path[PATH_BYTES])
{
    const char *dir = secure_getenv("PAWL_MODULE_DIR");
    if (dir && *dir) return put_path(path, dir, strnlen(dir, PATH_BYTES), "", file);
    if (is_near_program(file, path)) return true;
    return put_path(path, "", 0, PAWL_MODULE_DIR, file);
}

static enum pawl_err load(const struct shelf *shelf, const struct module *module, const void **out,
                          struct pawl_diag *diag)
{
    char path[PATH_BYTES];
    if (!locate(module->file, path)) return refuse_missing(shelf, module, path, diag);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return refuse_unloadable(shelf, module, dlerror(), diag);
    *out = dlsym(handle, shelf->symbol);
    if (*out) return PAWL_OK;
    dlclose(handle);
    return refuse(shelf, module, STRANGER, diag);
}

/* `*found` NULL: no module on this shelf has the URL's scheme. */
static enum pawl_err find(const struct shelf *shelf, const char *url, const struct module **found,
                          const void **out, struct pawl_diag *diag)
{
    *found = NULL;
    for (size_t i = 0; i < shelf->count; i++) {
        const struct module *module = &shelf->modules[i];
        if (!module->file || strncmp(url, module->scheme, strlen(module->scheme)) != 0) continue;
        *found = module;
        return load(shelf, module, out, diag);
    }
    return PAWL_OK;
}

#define X(scheme, file, needs) { scheme, file, needs },
static const struct module wake_modules[] = { WAKE_MODULES(X) };
#undef X
#define X(its_scheme, its_name, file, needs, ...) { its_scheme, file, needs },
static const struct module store_modules[] = { STORES(X) };
#undef X
#define X(its_scheme, its_name, file, needs, ...)                                                  \
    { .scheme = its_scheme, .name = its_name, __VA_ARGS__ },
static const struct pawl__scheme schemes[] = { STORES(X) };
#undef X

const struct pawl__scheme *pawl__scheme_of(const char *url)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (strncmp(url, schemes[i].scheme, strlen(schemes[i].scheme)) == 0) return &schemes[i];
    }
    return NULL;
}

enum pawl_err pawl__store_module_find(const char *url, const struct pawl__backend_table **out,
                                      struct pawl_diag *diag)
{
    static const struct shelf shelf = { .field = "store",
                                        .noun = "a store",
                                        .symbol = "pawl_store_module",
                                        .modules = store_modules,
                                        .count = sizeof store_modules / sizeof *store_modules };
    const struct module *module;
    const void *at = NULL;
    *out = NULL;
    enum pawl_err err = find(&shelf, url, &module, &at, diag);
    if (err || !module) return err;
    const struct pawl__store_module *its = at;
    bool fits = strcmp(its->version, PAWL_VERSION) == 0 &&
                its->op_bytes == sizeof(struct pawl__op) &&
                its->table_bytes == sizeof(struct pawl__backend_table);
    if (!fits) return refuse(&shelf, module, STRANGER, diag);
    *out = its->table;
    return PAWL_OK;
}

enum pawl_err pawl__wake_module_find(const char *url, const struct pawl__wake_module **out,
                                     struct pawl_diag *diag)
{
    static const struct shelf shelf = { .field = "wake",
                                        .noun = "wake-ups by",
                                        .symbol = "pawl_wake_module",
                                        .modules = wake_modules,
                                        .count = sizeof wake_modules / sizeof *wake_modules };
    const struct module *module;
    const void *at = NULL;
    *out = NULL;
    enum pawl_err err = find(&shelf, url, &module, &at, diag);
    if (err || !module) return err;
    const struct pawl__wake_module *its = at;
    bool fits = strcmp(its->version, PAWL_VERSION) == 0 &&
                its->table_bytes == sizeof(struct pawl__wake_table);
    if (!fits) return refuse(&shelf, module, STRANGER, diag);
    *out = its;
    return PAWL_OK;
}
