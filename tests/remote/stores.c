/* The one store that the contract suite is run against here: a server, on a thread of this process,
 * over a file of SQLite. It has the rig's clock and no node, so nothing happens by itself: what
 * the suite asks to be done for time's sake, and routing, is done to the server's own store. */
#include "api/api.h"
#include "http/http.h"
#include "left_out.h"
#include "support/rig.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum { SERVERS_MAX = 8 };

struct server {
    char url[RIG_URL_BYTES];
    char dir[RIG_URL_BYTES - 32];
    struct pawl *pawl;
    struct pawl__server *http;
    pthread_t thread;
};

static struct server servers[SERVERS_MAX];

static void *run_server(void *arg)
{
    pawl__http_run(arg);
    return NULL;
}

static struct server *server_of(const char *url)
{
    for (size_t i = 0; i < SERVERS_MAX; i++)
        if (strcmp(servers[i].url, url) == 0) return &servers[i];
    abort();
}

static void must(enum pawl_err err, const struct pawl_diag *diag)
{
    if (err == PAWL_OK) return;
    fprintf(stderr, "no server: %s\n", diag->text);
    abort();
}

/* The URL is written where it stands in a rig, which is how this comes to its clock. */
static void server_make(char *url, size_t size)
{
    struct rig *rig = (struct rig *)(void *)(url - offsetof(struct rig, url));
    struct server *server = server_of("");
    struct pawl_diag diag = { 0 };
    char store[RIG_URL_BYTES];
    temp_dir_make(server->dir, sizeof server->dir);
    snprintf(store, sizeof store, "sqlite:%s/store.db", server->dir);
    struct pawl_config config = { .store = store, .clock = &rig->clock->clock, .seed = 1 };
    must(pawl_open(&config, &server->pawl, &diag), &diag);
    struct pawl__http_config http = { .pawl = server->pawl,
                                      .listen = "127.0.0.1:0",
                                      .store_type = "sqlite",
                                      .log_level = 3,
                                      .drain_ms = 1000,
                                      .limits = { .body_bytes_max = 256 << 20,
                                                  .bodies_bytes_max = 512 << 20 } };
    must(pawl__http_open(&http, &server->http, &diag), &diag);
    snprintf(server->url, sizeof server->url, "%s", pawl__http_url(server->http));
    snprintf(url, size, "%s", server->url);
    if (pthread_create(&server->thread, NULL, run_server, server->http) != 0) abort();
}

static void server_dispose(const char *url)
{
    struct server *server = server_of(url);
    pawl__http_stop(server->http);
    pthread_join(server->thread, NULL);
    pawl__http_close(server->http);
    pawl_close(server->pawl);
    temp_dir_remove(server->dir);
    *server = (struct server){ .pawl = NULL };
}

const struct store_kind store_kinds[] = { { .name = "remote",
                                            .shared = true,
                                            .served = true,
                                            .make = server_make,
                                            .dispose = server_dispose } };
size_t store_kind_count = COUNT(store_kinds);

/* What the suite asks of the store, asked where it is. */
enum pawl_err remote_store_check(struct pawl__store *store, pawl_finding_fn *report, void *ctx,
                                 struct pawl_diag *diag);
enum pawl_err remote_store_check(struct pawl__store *store, pawl_finding_fn *report, void *ctx,
                                 struct pawl_diag *diag)
{
    (void)store;
    for (size_t i = 0; i < SERVERS_MAX; i++) {
        enum pawl_err err = servers[i].pawl ? pawl_check(servers[i].pawl, report, ctx, diag)
                                            : PAWL_OK;
        if (err) return err;
    }
    return PAWL_OK;
}

static bool is_the_server_s(enum pawl__op_kind kind)
{
    return kind == PAWL__OP_PROMOTE || kind == PAWL__OP_LAPSE || kind == PAWL__OP_EXPIRE ||
           kind == PAWL__OP_DEADLINE || kind == PAWL__OP_SETTLE || kind == PAWL__OP_ARCHIVE ||
           kind == PAWL__OP_PURGE;
}

enum pawl_err remote_store_do(struct pawl__store *store, struct pawl__op *op);
enum pawl_err remote_store_do(struct pawl__store *store, struct pawl__op *op)
{
    if (is_the_server_s(op->kind)) store = servers[0].pawl->store;
    return pawl__store_do(store, op);
}

/* Upkeep is the server's, too. */
enum pawl_err remote_upkeep_turn(struct pawl *pawl, const struct pawl_retention *retention,
                                 struct pawl_upkeep *out, struct pawl_diag *diag);
enum pawl_err remote_upkeep_turn(struct pawl *pawl, const struct pawl_retention *retention,
                                 struct pawl_upkeep *out, struct pawl_diag *diag)
{
    (void)pawl;
    return pawl_upkeep_turn(servers[0].pawl, retention, out, diag);
}

static bool is_left_out(const char *name)
{
    static const char *const names[] = {
#define X(test) #test,
        REMOTE_LEFT_OUT(X)
#undef X
    };
    const char *all = getenv("PAWL_TEST_ALL"); // what of these would pass by now?
    for (size_t i = 0; all == NULL && i < COUNT(names); i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

int remote_contract_run(const char *suite, const struct contract_test *tests, size_t count);
int remote_contract_run(const char *suite, const struct contract_test *tests, size_t count)
{
    struct contract_test *kept = calloc(count, sizeof *kept);
    size_t n = 0;
    if (kept == NULL) abort();
    setenv("PAWL_TEST_STORES", "", 1); // this program has one
    for (size_t i = 0; i < count; i++)
        if (!is_left_out(tests[i].name)) kept[n++] = tests[i];
    int failed = contract_run(suite, kept, n);
    free(kept);
    return failed;
}
