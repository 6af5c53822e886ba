/* pawl serve: the server, and a node without workers that runs its maintenance. */
#include "cli/cli.h"
#include "base/notify.h"
#include "http/http.h"

#include <stdlib.h>
#include <sys/resource.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* ---- configuration ---- */

/* A test compares names and defaults of the options with the list. */
static struct pawl__http_limits read_limits(const struct pawl__cli *cli)
{
    return (struct pawl__http_limits)
    {
#define X(limit, ...) .limit = pawl__cli_int(cli, PAWL__CLI_OPT_##limit),
        PAWL__HTTP_LIMITS(X)
#undef X
    };
}

static struct pawl__http_config read_config(const struct pawl__cli *cli)
{
    int64_t drain_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_S_DRAIN);
    struct pawl_store_kind kind = { 0 };
    (void)pawl_store_kind_of(cli->url, &kind); // the store is open, so the kind is known
    const struct pawl__cli_values *hosts = &cli->values[PAWL__CLI_OPT_ALLOW_HOST];
    return (struct pawl__http_config){
        .pawl = cli->pawl,
        .listen = pawl__cli_text(cli, PAWL__CLI_OPT_LISTEN),
        .limits = read_limits(cli),
        .tls_cert = pawl__cli_text(cli, PAWL__CLI_OPT_TLS_CERT),
        .tls_key = pawl__cli_text(cli, PAWL__CLI_OPT_TLS_KEY),
        .cors_origin = pawl__cli_text(cli, PAWL__CLI_OPT_CORS_ORIGIN),
        .hosts = hosts->at,
        .host_count = hosts->count,
        .test_mode = pawl__cli_flag(cli, PAWL__CLI_OPT_TEST_MODE),
        .access_log = pawl__cli_flag(cli, PAWL__CLI_OPT_ACCESS_LOG),
        .log_level = (int)pawl__cli_log_level(cli),
        .log_format = pawl__cli_log_format(cli),
        .drain_ms = drain_ms ? drain_ms : 1, // 0 would mean the default
        .unready_ms = pawl__cli_duration(cli, PAWL__CLI_OPT_UNREADY),
        .store_type = kind.name,
    };
}

/* Each connection needs a file descriptor, and the soft limit is often low. */
static void raise_file_limit(const struct pawl__cli *cli, int64_t connections)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if ((int64_t)limit.rlim_max < connections + 100 && !cli->quiet) {
        pawl__cli_hint("this process may have %lld files open, fewer than --connections-max asks "
                       "for; see \"ulimit -Hn\"",
                       (long long)limit.rlim_max);
    }
}

/* libuv reads the variable when it starts its first thread. Requests in its pool wait for commits:
 * with the default of four threads only four requests would share a commit, and four slow queries
 * would block all others. */
static void set_pool_size(void)
{
    (void)setenv("UV_THREADPOOL_SIZE", "16", 0); // unless the user has set it
}

/* Large blocks are returned to the system when they are freed, even if they are allocated often,
 * and threads share arenas, so that each can reuse memory freed by others. */
static void tune_allocator(void)
{
#if defined(__GLIBC__)
    (void)mallopt(M_MMAP_THRESHOLD, 512 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024);
    (void)mallopt(M_ARENA_MAX, 4);
#endif
}

static int put_url(struct pawl__cli *cli, const char *url)
{
    if (cli->json) {
        PAWL__CLI_PUT(cli, PAWL__HERE_TEXT("url", url));
    } else {
        pawl__buf_printf(&cli->out, "serving %s\n", url);
    }
    return pawl__cli_flush(cli);
}

static void put_hints(const struct pawl__cli *cli)
{
    struct pawl_diag diag;
    if (cli->quiet) return;
    if (pawl_wake_check(cli->pawl, &diag)) {
        pawl__cli_hint("wake-ups by other processes do not arrive, so the store is polled: %s",
                       diag.text);
    }
    if (pawl__cli_script_is_old(cli)) {
        pawl__cli_hint("the store's functions for SQL are out of date; run \"pawl migrate\"");
    }
}

int pawl__cli_serve(struct pawl__cli *cli)
{
    struct pawl_diag diag = { 0 };
    struct pawl__server *server = NULL;
    struct pawl_node_config node = { .workers = -1, .retention = pawl__cli_retention(cli) };
    set_pool_size(); // before there is a second thread
    tune_allocator();
    int code = pawl__cli_open(cli);
    if (code) return code;
    struct pawl__http_config config = read_config(cli);
    raise_file_limit(cli, config.limits.connections_max);
    enum pawl_err err = pawl_start(cli->pawl, &node, &diag);
    if (err) return pawl__cli_fail(err, &diag);
    put_hints(cli);
    err = pawl__http_open(&config, &server, &diag);
    if (err) {
        code = pawl__cli_fail_listen(err, &diag);
    } else {
        code = put_url(cli, pawl__http_url(server));
        pawl__notify("READY=1");
        pawl__http_run(server);
    }
    pawl__http_close(server);
    pawl_stop(cli->pawl, NULL, NULL);
    return code;
}
