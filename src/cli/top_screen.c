/* The terminal of pawl top: ANSI sequences and termios, without a library.
 *
 * 1. The terminal is restored before the program ends or stops, for whatever reason.
 * 2. Handlers of signals only set a flag and wake the loop, which acts between frames. The
 * exception is a second signal to exit, since the loop may be waiting for the store. */
#include "cli/top.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { ESCAPE_WAIT_MS = 50, KEYS_MAX = 256 };

/* Another screen, no cursor; and back again. */
#define ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define LEAVE "\033[0m\033[?25h\033[?1049l"

/* The handlers and the program share these. */
static volatile sig_atomic_t entered;
static volatile sig_atomic_t ending;
static volatile sig_atomic_t stopping;
static volatile sig_atomic_t continued;
static volatile sig_atomic_t resized;
static int wake_fds[2] = { -1, -1 };
static struct termios saved;

static unsigned char keys[KEYS_MAX]; /* read, but not returned yet */
static size_t key_count;

/* ---- the terminal ---- */

static bool write_all(const char *at, size_t len)
{
    while (len) {
        ssize_t done = write(STDOUT_FILENO, at, len);
        if (done < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (done < 0 && errno == EAGAIN) {
            struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };
            poll(&fd, 1, -1);
        }
        if (done > 0) {
            at += done;
            len -= (size_t)done;
        }
    }
    return true;
}

/* Async-signal-safe; safe to call again. */
static void leave(void)
{
    if (!entered) return;
    entered = 0;
    ssize_t ignored = write(STDOUT_FILENO, LEAVE, sizeof LEAVE - 1);
    (void)ignored;
    tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

static bool enter(void)
{
    struct termios raw = saved;
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR | ISTRIP);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN); // keeps ISIG, for Ctrl-C and Ctrl-Z
    raw.c_oflag &= ~(tcflag_t)OPOST;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) return false;
    entered = 1;
    return write_all(ENTER, sizeof ENTER - 1);
}

static void wake(void)
{
    ssize_t ignored = write(wake_fds[1], "", 1); // full: then it is awake already
    (void)ignored;
}

static void on_signal(int signal_number)
{
    int kept = errno;
    switch (signal_number) {
    case SIGTSTP:
        stopping = 1;
        break;
    case SIGCONT:
        continued = 1;
        break;
    case SIGWINCH:
        resized = 1;
        break;
    default:
        if (ending) {
            leave();
            _exit(PAWL__CLI_EXIT_INTERRUPTED);
        }
        ending = 1;
        break;
    }
    wake();
    errno = kept;
}

static void catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
    struct sigaction before, action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], NULL, &before);
        // Ignored by nohup or a shell without job control: keep that.
        if (before.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
    }
}

bool pawl__cli_screen_open(void)
{
    if (tcgetattr(STDIN_FILENO, &saved) != 0) return false;
    if (pipe2(wake_fds, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    atexit(leave);
    catch_signals();
    return enter();
}

void pawl__cli_screen_close(void)
{
    leave();
}

/* Restores the terminal for the shell, and takes it over again when the program continues. */
static bool stop(void)
{
    struct sigaction handler, usual = { .sa_handler = SIG_DFL };
    stopping = 0;
    leave();
    sigemptyset(&usual.sa_mask);
    sigaction(SIGTSTP, &usual, &handler);
    raise(SIGTSTP); // returns after "fg"
    sigaction(SIGTSTP, &handler, NULL);
    continued = 0;
    return enter();
}

/* ---- size and frames ---- */

void pawl__cli_screen_size(int *rows, int *columns)
{
    struct winsize size = { 0 };
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    *rows = known ? size.ws_row : 24;
    *columns = known ? size.ws_col : 80;
}

bool pawl__cli_screen_show(const struct pawl__buf *frame)
{
    if (frame->failed) pawl__cli_nomem();
    return write_all(frame->at, frame->len);
}

/* ---- keys ---- */

/* After "ESC [" or "ESC O": the last byte, and the number before it. */
static int key_of_sequence(unsigned char last, int number)
{
    static const struct {
        unsigned char last;
        int number;
        enum pawl__cli_key key;
    } sequences[] = {
        { 'A', 0, PAWL__CLI_KEY_UP },        { 'B', 0, PAWL__CLI_KEY_DOWN },
        { 'H', 0, PAWL__CLI_KEY_HOME },      { 'F', 0, PAWL__CLI_KEY_LAST },
        { 'Z', 0, PAWL__CLI_KEY_BACK_TAB },  { '~', 1, PAWL__CLI_KEY_HOME },
        { '~', 7, PAWL__CLI_KEY_HOME },      { '~', 4, PAWL__CLI_KEY_LAST },
        { '~', 8, PAWL__CLI_KEY_LAST },      { '~', 5, PAWL__CLI_KEY_PAGE_UP },
        { '~', 6, PAWL__CLI_KEY_PAGE_DOWN },
    };
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        if (sequences[i].last == last && sequences[i].number == number) return sequences[i].key;
    }
    return PAWL__CLI_KEY_OTHER;
}

/* The first key in `keys`; `*used` is 0 if its sequence is incomplete. */
static int decode(size_t *used)
{
    *used = 1;
    if (keys[0] != PAWL__CLI_KEY_ESCAPE) return keys[0] < 0x80 ? keys[0] : PAWL__CLI_KEY_OTHER;
    *used = 0;
    if (key_count < 2) return PAWL__CLI_KEY_NONE;
    *used = 2;
    if (keys[1] != '[' && keys[1] != 'O') return PAWL__CLI_KEY_OTHER; // Alt and a letter
    int number = 0;
    for (size_t i = 2; i < key_count; i++) {
        if (keys[i] >= '0' && keys[i] <= '9' && number < 1000) {
            number = number * 10 + (keys[i] - '0');
        } else if (keys[i] >= 0x40) {
            *used = i + 1;
            return key_of_sequence(keys[i], number);
        } else {
            number = 1000; // with Shift and the like: unknown
        }
    }
    *used = key_count == KEYS_MAX ? KEYS_MAX : 0; // no sequence is that long
    return PAWL__CLI_KEY_OTHER;
}

static int take_key(bool late)
{
    size_t used = 0;
    int key = PAWL__CLI_KEY_NONE;
    if (key_count) key = decode(&used);
    if (key_count && !used && late) { // nothing has followed, so it was the Escape key
        used = 1;
        key = PAWL__CLI_KEY_ESCAPE;
    }
    key_count -= used;
    memmove(keys, keys + used, key_count);
    return used ? key : PAWL__CLI_KEY_NONE;
}

static int take_flag(void)
{
    if (ending) return PAWL__CLI_KEY_END;
    if (stopping) return stop() ? PAWL__CLI_KEY_REDRAW : PAWL__CLI_KEY_END;
    if (continued) {
        // It was stopped by another signal, and the terminal may have changed since.
        continued = 0;
        return enter() ? PAWL__CLI_KEY_REDRAW : PAWL__CLI_KEY_END;
    }
    if (resized) {
        resized = 0;
        return PAWL__CLI_KEY_REDRAW;
    }
    return PAWL__CLI_KEY_NONE;
}

/* Waits for keys and reads them. False: the terminal is gone. */
static bool wait_for_keys(int64_t timeout_ms, bool *timed_out)
{
    struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                             { .fd = wake_fds[0], .events = POLLIN } };
    int ready = poll(fds, 2, timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms);
    *timed_out = ready == 0;
    if (ready < 0) return errno == EINTR;
    char drained[64];
    while (fds[1].revents && read(wake_fds[0], drained, sizeof drained) > 0) {
    }
    if (!fds[0].revents) return true;
    if (!(fds[0].revents & POLLIN)) return false;
    ssize_t got = read(STDIN_FILENO, keys + key_count, KEYS_MAX - key_count);
    if (got > 0) key_count += (size_t)got;
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

int pawl__cli_screen_key(int64_t timeout_ms)
{
    for (bool late = false;;) {
        int key = take_flag();
        if (key == PAWL__CLI_KEY_NONE) key = take_key(late);
        if (key != PAWL__CLI_KEY_NONE) return key;
        bool partial = key_count > 0, timed_out;
        int64_t wait_ms = partial && timeout_ms > ESCAPE_WAIT_MS ? ESCAPE_WAIT_MS : timeout_ms;
        if (!wait_for_keys(wait_ms < 0 ? 0 : wait_ms, &timed_out)) return PAWL__CLI_KEY_END;
        if (timed_out && !partial) return PAWL__CLI_KEY_NONE;
        late = timed_out;
    }
}
