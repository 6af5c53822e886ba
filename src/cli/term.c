/* The terminal: its width, Ctrl-C, progress bars, questions. */
#include "cli/cli.h"
#include "base/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int columns_of(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

void pawl__cli_now(struct pawl__cli *cli)
{
    cli->now_ms = pawl__clock_wall_ms(&pawl__clock_system);
}

void pawl__cli_term_init(struct pawl__cli *cli)
{
    const char *term = getenv("TERM");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    cli->out_tty = isatty(STDOUT_FILENO);
    cli->err_tty = isatty(STDERR_FILENO);
    cli->json = pawl__cli_flag(cli, PAWL__CLI_OPT_JSON) ||
                pawl__cli_flag(cli, PAWL__CLI_OPT_JSONL) ||
                pawl__cli_flag(cli, PAWL__CLI_OPT_PAGED);
    cli->quiet = pawl__cli_flag(cli, PAWL__CLI_OPT_QUIET);
    cli->colour = cli->out_tty && !dumb && !cli->json &&
                  !pawl__cli_flag(cli, PAWL__CLI_OPT_NO_COLOR);
    cli->columns = cli->out_tty ? columns_of(STDOUT_FILENO) : 0;
}

/* ---- Ctrl-C ---- */

/* The handler and the program share these. */
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t calm;
static pthread_t main_thread;

static void write_error(const char *text, size_t len)
{
    ssize_t ignored = write(STDERR_FILENO, text, len);
    (void)ignored;
}

static void on_interrupt(int signal_number)
{
    static const char alone[] = "\r\033[Kpawl: interrupted\n";
    static const char twice[] =
        "\r\033[Kpawl: interrupted twice; the last change may or may not have been made\n";
    // Only a signal to the main thread interrupts its reading of input.
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, signal_number);
        return;
    }
    if (calm && !interrupted) {
        interrupted = 1;
        return;
    }
    if (calm) {
        write_error(twice, sizeof(twice) - 1);
    } else if (isatty(STDERR_FILENO)) {
        write_error(alone, sizeof(alone) - 1);
    } else {
        write_error("pawl: interrupted\n", 18);
    }
    // No cleanup: a store survives killed processes.
    _exit(PAWL__CLI_EXIT_INTERRUPTED);
}

void pawl__cli_signals(void)
{
    struct sigaction before;
    main_thread = pthread_self();
    sigaction(SIGINT, NULL, &before);
    if (before.sa_handler == SIG_IGN) return; // a shell's background job
    // No SA_RESTART, so that reading from standard input is interrupted.
    struct sigaction action = { .sa_handler = on_interrupt };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void pawl__cli_calm(bool begin)
{
    calm = begin;
}

bool pawl__cli_interrupted(void)
{
    return interrupted;
}

/* ---- progress ---- */

enum { BAR_EVERY_US = 100 * 1000, BAR_COLUMNS_MAX = 30 };

void pawl__cli_bar_begin(struct pawl__cli *cli, struct pawl__cli_bar *bar, const char *noun,
                         int64_t total)
{
    *bar = (struct pawl__cli_bar){
        .on = cli->err_tty && !cli->quiet && !(cli->json && cli->out_tty),
        .noun = noun,
        .total = total,
        .began_us = pawl__clock_mono_us(&pawl__clock_system),
        .columns = columns_of(STDERR_FILENO),
    };
}

/* "[#####     ]  50% " */
static void put_bar(struct pawl__buf *line, int64_t done, int64_t total, int columns)
{
    double part = done >= total ? 1 : (double)done / (double)total;
    int full = (int)(part * columns);
    pawl__buf_add_text(line, "[");
    for (int i = 0; i < columns; i++) {
        pawl__buf_add_text(line, i < full ? "#" : " ");
    }
    pawl__buf_printf(line, "] %3.0f%% ", part * 100);
}

void pawl__cli_bar_draw(struct pawl__cli_bar *bar, int64_t done, const char *note)
{
    if (!bar->on) return;
    int64_t now_us = pawl__clock_mono_us(&pawl__clock_system);
    // The first one is drawn at once, in case the first step takes long.
    if (bar->drawn_us && now_us - bar->drawn_us < BAR_EVERY_US) return;
    bar->drawn_us = now_us;
    struct pawl__buf line = { 0 };
    if (bar->total > 0) put_bar(&line, done, bar->total, BAR_COLUMNS_MAX);
    if (note) pawl__buf_add_text(&line, note);
    if (!note) pawl__buf_printf(&line, "%" PRId64 " %s", done, bar->noun);
    if (!line.failed) {
        size_t len = pawl__cli_fit(line.at, line.len, (size_t)bar->columns - 1);
        fprintf(stderr, "\r\033[K%.*s", (int)len, line.at);
        fflush(stderr);
    }
    pawl__buf_release(&line);
}

void pawl__cli_bar_end(struct pawl__cli_bar *bar)
{
    if (bar->on && bar->drawn_us) fputs("\r\033[K", stderr);
    bar->on = false;
}

/* ---- questions ---- */

int pawl__cli_confirm(struct pawl__cli *cli, const char *question, bool *yes)
{
    if (pawl__cli_flag(cli, PAWL__CLI_OPT_YES) || pawl__cli_flag(cli, PAWL__CLI_OPT_A_YES)) {
        *yes = true;
        return PAWL__CLI_EXIT_OK;
    }
    if (!isatty(STDIN_FILENO) || !cli->err_tty) {
        pawl__cli_error("%s there is no terminal for the answer", question);
        pawl__cli_hint("use --yes to confirm");
        return PAWL__CLI_EXIT_USAGE;
    }
    char answer[16] = "";
    fprintf(stderr, "%s [y/N] ", question);
    fflush(stderr);
    if (!fgets(answer, sizeof(answer), stdin)) fputs("\n", stderr);
    *yes = answer[0] == 'y' || answer[0] == 'Y';
    return PAWL__CLI_EXIT_OK;
}
