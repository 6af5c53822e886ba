/* Modules, backends and ways to wake others: found by the URL's scheme, loaded when first asked
 * for.
 *
 * They are looked for in the directory that PAWL_MODULE_DIR names; else where a program that was
 * built and not installed has them beside it; else where they are installed. Whoever runs with more
 * rights than its user looks only there. */
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

/* scheme, file, what to install on Debian */
#define MODULES(X)                                                                                 \
    X("postgres://", "pawl-postgres.so", "libpq5")                                                 \
    X("postgresql://", "pawl-postgres.so", "libpq5")                                               \
    X("http://", "pawl-remote.so", "libcurl4")                                                     \
    X("https://", "pawl-remote.so", "libcurl4")

#define WAKE_MODULES(X)                                                                            \
    X("redis://", "pawl-redis.so", "libhiredis0.14")                                               \
    X("rediss://", "pawl-redis.so", "libhiredis0.14")                                              \
    X("redis+unix://", "pawl-redis.so", "libhiredis0.14")

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

static enum pawl_err refuse(const struct shelf *shelf, const struct module *module, const char *why,
                            struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, shelf->field,
                            "cannot use %s \"%s...\": %s; install %s, and a pawl that was "
                            "built with it",
                            shelf->noun, module->scheme, why, module->needs);
}

enum { PATH_BYTES = 4096 };

#define STRANGER "the module belongs to another pawl"

/* In the tree that the program was built in. */
static bool is_beside(const char *file, char path[PATH_BYTES])
{
    char program[PATH_BYTES];
    ssize_t len = getauxval(AT_SECURE) ? -1 : readlink("/proc/self/exe", program, sizeof program);
    while (len > 0 && program[len - 1] != '/') {
        len--;
    }
    if (len <= 0) return false;
    int wanted = snprintf(path, PATH_BYTES, "%.*ssrc/store/%s", (int)len, program, file);
    return wanted < PATH_BYTES && access(path, R_OK) == 0;
}

static enum pawl_err load(const struct shelf *shelf, const struct module *module, const void **out,
                          struct pawl_diag *diag)
{
    char path[PATH_BYTES];
    const char *dir = secure_getenv("PAWL_MODULE_DIR");
    if ((dir && *dir) || !is_beside(module->file, path)) {
        int len =
            snprintf(path, sizeof path, "%s/%s", dir && *dir ? dir : PAWL_MODULE_DIR, module->file);
        if (len < 0 || (size_t)len >= sizeof path) {
            return refuse(shelf, module, "PAWL_MODULE_DIR is too long", diag);
        }
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return refuse(shelf, module, dlerror(), diag);
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
        if (strncmp(url, module->scheme, strlen(module->scheme)) != 0) continue;
        *found = module;
        return load(shelf, module, out, diag);
    }
    return PAWL_OK;
}

#define X(scheme, file, needs) { scheme, file, needs },
static const struct module store_modules[] = { MODULES(X) };
static const struct module wake_modules[] = { WAKE_MODULES(X) };
#undef X

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
