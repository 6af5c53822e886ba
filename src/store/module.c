/* Backends in modules: found by the URL's scheme, loaded when first asked for.
 *
 * They are looked for in the directory that PAWL_MODULE_DIR names; else where a program that was
 * built and not installed has them beside it; else where they are installed. Whoever runs with more
 * rights than its user looks only there. */
#include "base/diag.h"
#include "store/backend.h"

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

struct module {
    const char *scheme, *file, *needs;
};

static enum pawl_err refuse(const struct module *module, const char *why, struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_UNSUPPORTED, "store",
                            "cannot use a store \"%s...\": %s; install %s, and a pawl that was "
                            "built with it",
                            module->scheme, why, module->needs);
}

enum { PATH_BYTES = 4096 };

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

static enum pawl_err load(const struct module *module, const struct pawl__backend_table **out,
                          struct pawl_diag *diag)
{
    char path[PATH_BYTES];
    const char *dir = secure_getenv("PAWL_MODULE_DIR");
    if ((dir && *dir) || !is_beside(module->file, path)) {
        int len =
            snprintf(path, sizeof path, "%s/%s", dir && *dir ? dir : PAWL_MODULE_DIR, module->file);
        if (len < 0 || (size_t)len >= sizeof path) {
            return refuse(module, "PAWL_MODULE_DIR is too long", diag);
        }
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return refuse(module, dlerror(), diag);
    const struct pawl__store_module *found = dlsym(handle, "pawl_store_module");
    bool fits = found && strcmp(found->version, PAWL_VERSION) == 0 &&
                found->op_bytes == sizeof(struct pawl__op) &&
                found->table_bytes == sizeof(struct pawl__backend_table);
    if (!fits) {
        dlclose(handle);
        return refuse(module, "the module belongs to another pawl", diag);
    }
    *out = found->table;
    return PAWL_OK;
}

enum pawl_err pawl__store_module_find(const char *url, const struct pawl__backend_table **out,
                                      struct pawl_diag *diag)
{
    static const struct module modules[] = {
#define X(scheme, file, needs) { scheme, file, needs },
        MODULES(X)
#undef X
    };
    *out = NULL;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strncmp(url, modules[i].scheme, strlen(modules[i].scheme)) != 0) continue;
        return load(&modules[i], out, diag);
    }
    return PAWL_OK;
}
