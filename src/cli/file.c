/* Files that commands read. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, READ_BYTES = 64 * 1024 };

int pawl__cli_read_file(struct pawl__cli *cli, const char *path, struct pawl_span *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (!file) {
        return pawl__cli_usage("cannot read \"%s\": %s", path, strerror(errno));
    }
    struct pawl__buf text = { 0 };
    char *bytes = pawl__cli_need(pawl__arena_alloc(&cli->arena, READ_BYTES));
    for (size_t got; text.len <= FILE_BYTES_MAX && (got = fread(bytes, 1, READ_BYTES, file)) > 0;) {
        pawl__buf_add(&text, bytes, got);
    }
    bool failed = ferror(file) != 0;
    int error = errno;
    if (!is_stdin) fclose(file);
    if (text.failed) pawl__cli_nomem();
    out->at = pawl__cli_need(pawl__arena_dup(&cli->arena, text.at ? text.at : "", text.len));
    out->len = text.len;
    pawl__buf_release(&text);
    if (failed) return pawl__cli_usage("cannot read \"%s\": %s", path, strerror(error));
    if (out->len <= FILE_BYTES_MAX) return PAWL__CLI_EXIT_OK;
    return pawl__cli_usage("\"%s\" is over %d MiB", path, FILE_BYTES_MAX / 1024 / 1024);
}
