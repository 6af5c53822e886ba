/* Files of schedules ("pawl cron apply"), in the manner of a crontab:
 *
 *     # name        expression     [zone]         type         [arguments]  [options]
 *     --queue reports
 *     nightly       0 9 * * 1-5    Europe/Berlin  report.send  ["daily"]    --overlap allow
 *     cache         @every 90s                    cache.warm
 *
 * Words are separated by blanks. What follows the type is what "pawl cron add" takes. A line that
 * has options alone sets defaults for the lines below it. A word that begins with "[" or "{" is
 * JSON and ends where that ends, perhaps on a later line. Other words may be quoted as in a shell.
 * "#" begins a comment where a word could begin. docs/cron.md describes it to users. Pure. */
#ifndef PAWL_CLI_CRON_FILE_H
#define PAWL_CLI_CRON_FILE_H

#include "base/arena.h"

#include <pawl/job.h>

enum { PAWL__CRON_FILE_ENTRIES_MAX = 10000, PAWL__CRON_FILE_WORDS_MAX = 1000 };

/* A schedule, as the words of a command line: options, name, expression, type, perhaps arguments,
 * options. A zone became "--zone" and its name. */
struct pawl__cron_entry {
    size_t line; /* where it begins, from 1 */
    const char *name;
    const char **words;
    size_t count;
};

struct pawl__cron_entries {
    struct pawl__cron_entry *at; /* in the order of the file */
    size_t count;
};

/* All of it lives in `arena`. ARG: `*line` is where, `diag` says what. LIMIT, NOMEM. */
PAWL_MUST_CHECK enum pawl_err pawl__cron_file_read(struct pawl_span text, struct pawl__arena *arena,
                                                   struct pawl__cron_entries *out, size_t *line,
                                                   struct pawl_diag *diag);

#endif
