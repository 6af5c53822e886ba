/* Error messages, hints and exit codes. */
#include "cli/cli.h"
#include "base/nearest.h"

#include <stdarg.h>
#include <unistd.h>

static const char *where;

void pawl__cli_error_where(const char *place)
{
    where = place;
}

/* Replaces control characters: messages quote the command line and texts from a store. */
static void say(const char *prefix, const char *place, const char *format, va_list args)
{
    char text[1024];
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): every caller has started it
    vsnprintf(text, sizeof text, format, args);
    struct pawl__buf line = { 0 };
    pawl__buf_add_text(&line, prefix);
    if (place) pawl__plain_add(&line, place, strlen(place));
    if (place) pawl__buf_add_text(&line, ": ");
    pawl__plain_add(&line, text, strlen(text));
    pawl__buf_add_text(&line, "\n");
    if (line.failed) pawl__cli_nomem();
    fflush(stdout);
    fwrite(line.at, 1, line.len, stderr);
    pawl__buf_release(&line);
}

void pawl__cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("pawl: ", where, format, args);
    va_end(args);
}

void pawl__cli_hint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("hint: ", NULL, format, args);
    va_end(args);
}

int pawl__cli_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("pawl: ", where, format, args);
    va_end(args);
    return PAWL__CLI_EXIT_USAGE;
}

bool pawl__cli_did_you_mean(const struct pawl__nearest *nearest, const char *before)
{
    if (nearest->best) pawl__cli_hint("did you mean \"%s%s\"?", before, nearest->best);
    return nearest->best != NULL;
}

struct advice {
    enum pawl__cli_exit exit;
    const char *hint;   /* NULL: none */
    const char *served; /* instead, if the store is on a server */
};

static bool served, token_given;

void pawl__cli_hint_served(bool is_served)
{
    served = is_served;
}

void pawl__cli_hint_token(bool is_given)
{
    token_given = is_given;
}

static const struct advice advices[PAWL_ERR_END] = {
    [PAWL_OK] = { PAWL__CLI_EXIT_OK, NULL },
    [PAWL_ERR_ARG] = { PAWL__CLI_EXIT_USAGE, NULL },
    [PAWL_ERR_NOMEM] = { PAWL__CLI_EXIT_STORE, NULL },
    [PAWL_ERR_NOT_FOUND] = { PAWL__CLI_EXIT_REFUSED, NULL },
    [PAWL_ERR_EXISTS] = { PAWL__CLI_EXIT_REFUSED, NULL },
    [PAWL_ERR_DUPLICATE] = { PAWL__CLI_EXIT_REFUSED, NULL },
    [PAWL_ERR_STATE] = { PAWL__CLI_EXIT_REFUSED, NULL },
    [PAWL_ERR_STALE] = { PAWL__CLI_EXIT_REFUSED, NULL },
    [PAWL_ERR_HELD] = { PAWL__CLI_EXIT_REFUSED, NULL },
    [PAWL_ERR_BUSY] = { PAWL__CLI_EXIT_STORE, "nothing was changed; --busy-timeout waits longer" },
    [PAWL_ERR_FULL] = { PAWL__CLI_EXIT_STORE,
                        "make room on the disk, then try again; \"df -h .\" shows what is left",
                        "make room on the database server's disk, then try again" },
    [PAWL_ERR_IO] = { PAWL__CLI_EXIT_STORE, NULL },
    [PAWL_ERR_CORRUPT] = { PAWL__CLI_EXIT_STORE,
                           "keep a copy of the file as it is; \"pawl check\" lists the damage, and "
                           "a file made by \"pawl backup\" can take its place",
                           "keep a copy of the database as it is; \"pawl check\" lists the "
                           "damage" },
    [PAWL_ERR_READONLY] = { PAWL__CLI_EXIT_STORE,
                            "the file and its directory must both be writable",
                            "the server must accept writes, and the user must own the database "
                            "or be allowed to create tables in it" },
    [PAWL_ERR_SCHEMA] = { PAWL__CLI_EXIT_STORE,
                          "\"pawl migrate --check\" compares the store with this program" },
    [PAWL_ERR_UNSAFE] = { PAWL__CLI_EXIT_STORE,
                          "an earlier write failed; run \"pawl check\", then try again" },
    [PAWL_ERR_CLOSED] = { PAWL__CLI_EXIT_STORE, NULL },
    [PAWL_ERR_LIMIT] = { PAWL__CLI_EXIT_USAGE, NULL },
    [PAWL_ERR_UNSUPPORTED] = { PAWL__CLI_EXIT_STORE, NULL },
};

static const char *hint_for(enum pawl_err err)
{
    if (err >= PAWL_ERR_END) return NULL;
    return served && advices[err].served ? advices[err].served : advices[err].hint;
}

int pawl__cli_exit_of(enum pawl_err err)
{
    return err < PAWL_ERR_END ? (int)advices[err].exit : PAWL__CLI_EXIT_REFUSED;
}

int pawl__cli_fail(enum pawl_err err, const struct pawl_diag *diag)
{
    bool described = diag && diag->text[0];
    pawl__cli_error("%s", described ? diag->text : pawl_err_text(err));
    if (described && strcmp(diag->field, "token") == 0) {
        pawl__cli_hint(token_given
                           ? "\"pawl token add --scope SCOPE\" creates another one, on the machine "
                             "of the server's store"
                           : "give it with --token or PAWL_TOKEN");
    } else if (hint_for(err)) {
        pawl__cli_hint("%s", hint_for(err));
    }
    return pawl__cli_exit_of(err);
}

int pawl__cli_fail_at(enum pawl_err err, const struct pawl_diag *diag, const char *path)
{
    pawl__cli_error("%s", diag->text[0] ? diag->text : pawl_err_text(err));
    bool hinted = pawl__cli_hint_path(path); // is more specific
    if (!hinted && hint_for(err)) pawl__cli_hint("%s", hint_for(err));
    return pawl__cli_exit_of(err);
}

_Noreturn void pawl__cli_nomem(void)
{
    static const char text[] = "pawl: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)ignored;
    _exit(PAWL__CLI_EXIT_STORE);
}

void *pawl__cli_need(void *at)
{
    if (!at) pawl__cli_nomem();
    return at;
}

int pawl__cli_fail_listen(enum pawl_err err, const struct pawl_diag *diag)
{
    bool address = strcmp(diag->field, "listen") == 0 && err != PAWL_ERR_ARG;
    int code = pawl__cli_fail(err, diag);
    return address ? PAWL__CLI_EXIT_REFUSED : code;
}
