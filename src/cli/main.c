/* The pawl command: reads the command line and the settings, runs the command, cleans up. */
#include "cli/cli.h"

#include <locale.h>
#include <unistd.h>

/* Without a command: --help, --version, or the usage. */
static int no_command(struct pawl__cli *cli)
{
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_VERSION)) return pawl__cli_version(cli);
    pawl__cli_explain(cli, NULL);
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_HELP)) return PAWL__CLI_EXIT_OK;
    if (cli->out.failed) pawl__cli_nomem();
    fwrite(cli->out.at, 1, cli->out.len, stderr);
    pawl__buf_clear(&cli->out);
    return PAWL__CLI_EXIT_USAGE;
}

/* Decides how to print, by the values read so far. */
static void prepare(struct pawl__cli *cli)
{
    cli->vocabulary = (enum pawl_vocabulary)pawl__cli_int(cli, PAWL__CLI_OPT_VOCABULARY);
    pawl__cli_term_init(cli);
}

static int run(struct pawl__cli *cli, int argc, char **argv)
{
    int code = pawl__cli_parse(cli, argc, argv);
    if (code) return code;
    prepare(cli);
    if (!cli->command) return no_command(cli);
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_HELP)) {
        pawl__cli_explain(cli, cli->command);
        return PAWL__CLI_EXIT_OK;
    }
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_VERSION)) return pawl__cli_version(cli);
    if (cli->command->store != PAWL__CLI_STORE_NONE) {
        code = pawl__cli_settings(cli, environ);
        if (code) return code;
        prepare(cli);
    }
    pawl__cli_signals();
    return cli->command->run(cli);
}

int main(int argc, char **argv)
{
    // Only for the widths of characters; the rest remains the C locale.
    setlocale(LC_CTYPE, "C.UTF-8");
    struct pawl__cli cli = { 0 };
    pawl__arena_init(&cli.arena);
    pawl__cli_now(&cli);
    int code = run(&cli, argc, argv);
    int written = pawl__cli_flush(&cli);
    pawl_close(cli.pawl);
    pawl__buf_release(&cli.out);
    pawl__arena_release(&cli.arena);
    return code ? code : written;
}
