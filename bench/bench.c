/* pawl_bench: measures pawl, as ratios to what the machine can do in the same run.
 *
 * Main thread: runs the measurements one after the other. A second thread waits for signals, so
 * that an interrupted run leaves no files behind. */
#include "bench.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

static char temporary[PAWL__BENCH_PATH_BYTES]; /* "": none yet; set before other threads start */

void pawl__bench_remove_files(void)
{
    DIR *dir = opendir(temporary);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        unlinkat(dirfd(dir), entry->d_name, 0); // "." and ".." refuse
    }
    if (dir) closedir(dir);
}

static void remove_temporary(void)
{
    pawl__bench_kill_nodes();
    if (!*temporary) return;
    pawl__bench_remove_files();
    rmdir(temporary);
}

void pawl__bench_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void pawl__bench_die(const char *format, ...)
{
    va_list args;
    fputs("pawl_bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    remove_temporary();
    _exit(1); // not exit: other threads are still running
}

int64_t pawl__bench_now_us(void)
{
    return pawl__clock_mono_us(&pawl__clock_system);
}

int64_t pawl__bench_clock_us(clockid_t clock)
{
    struct timespec at = { 0 };
    clock_gettime(clock, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

void pawl__bench_path(const struct pawl__bench *bench, const char *name,
                      char out[PAWL__BENCH_PATH_BYTES])
{
    const int len = snprintf(out, PAWL__BENCH_PATH_BYTES, "%s/%s", bench->dir, name);
    if (len < 0 || len >= PAWL__BENCH_PATH_BYTES) pawl__bench_die("the path is too long");
}

int64_t pawl__bench_written(void)
{
    char line[128];
    long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "wchar: %lld", &bytes) == 1) break;
    }
    if (file) fclose(file);
    return bytes;
}

void *pawl__bench_calloc(size_t count, size_t bytes)
{
    void *at = calloc(count, bytes);
    if (!at) pawl__bench_die("out of memory");
    return at;
}

static void *watch_signals(void *arg)
{
    int number = 0;
    sigwait(arg, &number);
    remove_temporary();
    _exit(128 + number);
}

static void catch_signals(void)
{
    static sigset_t set;
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, watch_signals, &set)) {
        pawl__bench_die("could not start a thread");
    }
    pthread_detach(thread);
}

/* The build directory: the program lies one folder below it. */
static void build_dir(char out[PAWL__BENCH_PATH_BYTES])
{
    const ssize_t len = readlink("/proc/self/exe", out, PAWL__BENCH_PATH_BYTES - 1);
    if (len <= 0) pawl__bench_die("could not find the build directory");
    out[len] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(out, '/');
        if (slash && slash != out) *slash = 0;
    }
}

struct options {
    const char *only;
    const char *json;
    const char *dir;
    const char *pawl;
    int64_t slice_ms, soak_ms;
    bool quick, full, list;
};

static const char usage[] =
    "usage: %s [OPTION]...\n"
    "\n"
    "%s\n"
    "\n"
    "  --only NAME   one measurement (--list names them)\n"
    "  --quick       only see that everything works; the figures mean nothing\n"
    "  --seconds N   length of a slice, fractions allowed [1]\n"
    "  --json FILE   where to write the results [%s in the build directory]\n"
    "%s"
    "  --list        name the measurements\n"
    "  --help\n";
static const char files_usage[] =
    "  --full        also with 10,000,000 jobs waiting: minutes more, gigabytes of disk\n"
    "  --dir DIR     measure on this disk [the build directory's]\n"
    "  --pawl FILE   the command [pawl in the build directory]\n";
static const char server_usage[] =
    "  --soak N      run for N seconds, too, and see whether claims grow slower\n";

static void show_usage(FILE *out)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    fprintf(out, usage, program_invocation_short_name, pawl__program.about, pawl__program.json,
            pawl__program.server ? server_usage : files_usage);
#pragma GCC diagnostic pop
}

static int64_t parse_seconds(const char *option, const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value > 0 && value <= 86400)) {
        pawl__bench_die("--%s wants a number above 0, not \"%s\"", option, text);
    }
    return (int64_t)(value * 1000 + 0.5);
}

static void parse(int argc, char **argv, struct options *out)
{
    static const struct option list[] = {
        { "only", required_argument, NULL, 'o' },
        { "full", no_argument, NULL, 'f' },
        { "quick", no_argument, NULL, 'q' },
        { "seconds", required_argument, NULL, 's' },
        { "json", required_argument, NULL, 'j' },
        { "dir", required_argument, NULL, 'd' },
        { "pawl", required_argument, NULL, 'p' },
        { "list", no_argument, NULL, 'l' },
        { "soak", required_argument, NULL, 'k' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    for (int c; (c = getopt_long(argc, argv, "h", list, NULL)) != -1;) {
        switch (c) {
        case 'o':
            out->only = optarg;
            break;
        case 'f':
            out->full = true;
            break;
        case 'q':
            out->quick = true;
            break;
        case 's':
            out->slice_ms = parse_seconds("seconds", optarg);
            break;
        case 'k':
            out->soak_ms = parse_seconds("soak", optarg);
            break;
        case 'j':
            out->json = optarg;
            break;
        case 'd':
            out->dir = optarg;
            break;
        case 'p':
            out->pawl = optarg;
            break;
        case 'l':
            out->list = true;
            break;
        case 'h':
            show_usage(stdout);
            exit(0);
        default:
            show_usage(stderr);
            exit(2);
        }
    }
    if (pawl__program.server ? out->full || out->dir || out->pawl : out->soak_ms > 0) {
        pawl__bench_die("an option is not for this store; see --help");
    }
    if (optind < argc) pawl__bench_die("unexpected argument \"%s\"", argv[optind]);
}

static void show_list(void)
{
    for (int i = 0; i < pawl__program.count; i++) {
        printf("%-13s %s\n", pawl__program.list[i].name, pawl__program.list[i].text);
    }
}

static void make_temporary(const char *dir)
{
    char path[PAWL__BENCH_PATH_BYTES];
    const int len = snprintf(path, sizeof path, "%s/pawl-bench-XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof path) pawl__bench_die("the path is too long");
    if (!mkdtemp(path)) pawl__bench_die("could not make a folder in \"%s\": %m", dir);
    memcpy(temporary, path, sizeof temporary);
}

static void run_all(struct pawl__bench *bench, const char *only)
{
    int ran = 0;
    for (int i = 0; i < pawl__program.count; i++) {
        if (only && strcmp(only, pawl__program.list[i].name) != 0) continue;
        pawl__bench_say("# %s: %s", pawl__program.list[i].name, pawl__program.list[i].text);
        pawl__program.list[i].run(bench);
        pawl__bench_forget_all(bench);
        ran++;
    }
    if (!ran) pawl__bench_die("there is no measurement \"%s\"; see --list", only);
}

int main(int argc, char **argv)
{
    char build[PAWL__BENCH_PATH_BYTES], json[PAWL__BENCH_PATH_BYTES + 32];
    char pawl[PAWL__BENCH_PATH_BYTES + 16];
    struct options options = { 0 };
    parse(argc, argv, &options);
    if (options.list) {
        show_list();
        return 0;
    }
    build_dir(build);
    snprintf(pawl, sizeof pawl, "%s/pawl", build);
    if (!pawl__program.server) make_temporary(options.dir ? options.dir : build);
    catch_signals();
    struct pawl__bench bench = { .dir = temporary,
                                 .build = build,
                                 .pawl = options.pawl ? options.pawl : pawl,
                                 .quick = options.quick,
                                 .full = options.full,
                                 .slice_us = 1000 * (options.quick ? 50 : 1000),
                                 .soak_us = 1000 * options.soak_ms,
                                 .pairs = options.quick ? 2 : 5,
                                 .threads = options.quick ? 4 : 32 };
    if (options.slice_ms > 0) bench.slice_us = 1000 * options.slice_ms;
    pawl__idgen_init(&bench.ids, &pawl__clock_system, pawl__rng_system_seed());
    run_all(&bench, options.only);
    snprintf(json, sizeof json, "%s", options.json ? options.json : "");
    if (!options.json) snprintf(json, sizeof json, "%s/%s", build, pawl__program.json);
    pawl__report_json(json);
    pawl__report_print(stdout);
    pawl__idgen_release(&bench.ids);
    remove_temporary();
    return 0;
}
