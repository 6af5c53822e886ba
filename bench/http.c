/* The server as a separate process, under load from its clients, compared with a bare echo server
 * for the same requests on the same libraries. */
#include "http.h"

#include "base/buf.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CONNECTIONS = 64,
    JOB_BYTES = 400,
    BATCH_JOBS = 100,
    FILL_JOBS = 1000,         /* in a request that prepares a slice */
    WORK_JOBS_PER_S = 100000, /* more than can be processed */
    IDLE_CONNECTIONS = 2000,
    PICKUPS = 500
};

struct server {
    pid_t pid;
    clockid_t clock;
    int port;
    struct pawl__load *load;
};

/* CPU time of a server, in all slices of a kind together. */
struct cost {
    int64_t us, requests;
};

struct http {
    struct pawl__bench *bench;
    struct server echo, pawl;
    struct cost floor_cost, value_cost;
    struct pawl_span submit, batch, fill, fetch;
    struct pawl_span acks[CONNECTIONS];
    size_t ack_id; /* offset of the job's id in each */
    bool holds[CONNECTIONS];
    int64_t waiting; /* jobs that can be fetched */
    double p50s_us[PAWL__BENCH_PAIRS_MAX], p99s_us[PAWL__BENCH_PAIRS_MAX];
    int slices;
};

/* ---- requests ---- */

static struct pawl_span span_of(const struct pawl__buf *buf)
{
    if (buf->failed) pawl__bench_die("out of memory");
    return (struct pawl_span){ buf->at, buf->len };
}

/* The caller frees the span's memory. */
static struct pawl_span post(const char *path, struct pawl_span body)
{
    struct pawl__buf request = { 0 };
    pawl__buf_printf(&request,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                     "application/openjobspec+json\r\nContent-Length: %zu\r\n\r\n",
                     path, body.len);
    pawl__buf_add(&request, body.at, body.len);
    return span_of(&request);
}

static struct pawl_span post_text(const char *path, const char *body)
{
    return post(path, (struct pawl_span){ body, strlen(body) });
}

/* One job of exactly JOB_BYTES. */
static void make_job(char out[JOB_BYTES + 1])
{
    static const char start[] = "{\"type\":\"mail.send\",\"args\":[{\"to\":\"ada@example.com\","
                                "\"subject\":\"Your order 4711 is on its way\",\"text\":\"";
    static const char end[] = "\"}],\"meta\":{\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\"},"
                              "\"options\":{\"queue\":\"mail\",\"priority\":5}}";
    memset(out, 'x', JOB_BYTES);
    memcpy(out, start, sizeof start - 1);
    memcpy(out + JOB_BYTES - (sizeof end - 1), end, sizeof end);
}

static struct pawl_span make_batch(int count)
{
    char job[JOB_BYTES + 1];
    struct pawl__buf body = { 0 };
    make_job(job);
    pawl__buf_add_text(&body, "{\"jobs\":[");
    for (int i = 0; i < count; i++) {
        if (i) pawl__buf_add_text(&body, ",");
        pawl__buf_add(&body, job, JOB_BYTES);
    }
    pawl__buf_add_text(&body, "]}");
    const struct pawl_span request = post("/ojs/v1/jobs/batch", span_of(&body));
    pawl__buf_release(&body);
    return request;
}

static void make_requests(struct http *http)
{
    static const char ack[] =
        "{\"job_id\":\"00000000-0000-7000-8000-000000000000\",\"result\":{\"sent\":true}}";
    char job[JOB_BYTES + 1];
    make_job(job);
    http->submit = post_text("/ojs/v1/jobs", job);
    http->batch = make_batch(BATCH_JOBS);
    http->fill = make_batch(FILL_JOBS);
    http->fetch = post_text("/ojs/v1/workers/fetch", "{\"queues\":[\"mail\"],\"count\":1}");
    for (int i = 0; i < CONNECTIONS; i++) {
        http->acks[i] = post_text("/ojs/v1/workers/ack", ack);
    }
    http->ack_id = http->acks[0].len - (sizeof ack - 1) + 11;
}

static void free_requests(struct http *http)
{
    free((char *)http->submit.at);
    free((char *)http->batch.at);
    free((char *)http->fill.at);
    free((char *)http->fetch.at);
    for (int i = 0; i < CONNECTIONS; i++) {
        free((char *)http->acks[i].at);
    }
}

/* ---- servers ---- */

/* Both print their address, and nothing else. */
static void server_start(struct server *server, const char *const *argv, int connections)
{
    int ends[2];
    char line[128] = "";
    if (pipe2(ends, O_CLOEXEC)) pawl__bench_die("could not make a pipe: %m");
    server->pid = pawl__node_start((char *const *)argv, ends[1]);
    server->clock = pawl__child_clock(server->pid);
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    if (!file || !fgets(line, sizeof line, file) ||
        sscanf(line, "serving http://127.0.0.1:%d", &server->port) != 1) {
        pawl__bench_die("\"%s\" does not serve", argv[0]);
    }
    fclose(file);
    if (connections) server->load = pawl__load_open(server->port, connections);
}

static void server_stop(struct server *server, const char *what)
{
    if (server->load) pawl__load_close(server->load);
    pawl__node_stop(server->pid, what);
}

static void echo_start(struct http *http)
{
    char path[PAWL__BENCH_PATH_BYTES + 8];
    const ssize_t len = readlink("/proc/self/exe", path, PAWL__BENCH_PATH_BYTES - 1);
    if (len <= 0) pawl__bench_die("could not find the echo");
    path[len] = 0;
    memcpy(strrchr(path, '/') + 1, "pawl_echo", sizeof "pawl_echo"); // as long as the name of this
                                                                     // program
    const char *const argv[] = { path, NULL };
    server_start(&http->echo, argv, CONNECTIONS);
}

static void pawl_start_serving(struct http *http, int connections)
{
    const struct pawl__url url = pawl__bench_url(http->bench, "http.db");
    const char *const argv[] = { http->bench->pawl, "serve",       "--store", url.text, "--listen",
                                 "127.0.0.1:0",     "--log-level", "warning", NULL };
    server_start(&http->pawl, argv, connections);
}

static void begin(struct http *http, struct pawl__bench *bench)
{
    http->bench = bench;
    make_requests(http);
    echo_start(http);
    pawl_start_serving(http, CONNECTIONS);
}

static void end(struct http *http)
{
    server_stop(&http->echo, "pawl_echo");
    server_stop(&http->pawl, "pawl serve");
    free_requests(http);
    pawl__bench_forget(http->bench, "http.db");
}

/* What the clients do. */
struct doing {
    struct pawl_span (*next)(void *ctx, int connection);
    void (*answered)(void *ctx, int connection, struct pawl_span body);
};

static struct pawl__load_result run(struct http *http, struct server *server, struct cost *cost,
                                    const struct doing *doing)
{
    const int64_t before_us = pawl__bench_clock_us(server->clock);
    const struct pawl__load_result result =
        pawl__load_run(server->load, &(struct pawl__load_options){ .for_us = http->bench->slice_us,
                                                                   .next = doing->next,
                                                                   .answered = doing->answered,
                                                                   .ctx = http });
    cost->us += pawl__bench_clock_us(server->clock) - before_us;
    cost->requests += result.answers;
    return result;
}

static void note_times(struct http *http, const struct pawl__load_result *result)
{
    http->p50s_us[http->slices] = result->p50_us;
    http->p99s_us[http->slices++] = result->p99_us;
}

static double per_s(const struct pawl__load_result *result, double each)
{
    return (double)result->answers * each * 1e6 / (double)result->us;
}

/* ---- rows ---- */

static void report_times(struct http *http, const char *load)
{
    static const char *const names[] = { "p50", "p99" };
    double *const values[] = { http->p50s_us, http->p99s_us };
    for (int i = 0; i < 2; i++) {
        struct pawl__row row = { .unit = "ms" };
        row.value = pawl__median(values[i], http->slices) / 1e3;
        snprintf(row.name, sizeof row.name, "%s, %s", load, names[i]);
        snprintf(row.note, sizeof row.note, "a request under that load; median of the slices");
        pawl__report_add(&row);
    }
}

/* Steadier than the rate: other programs hardly affect it. */
static void report_cpu(const struct http *http, const char *load, int per_request)
{
    struct pawl__row row = { .unit = per_request > 1 ? "us/job" : "us/req" };
    row.value = (double)http->value_cost.us / (double)http->value_cost.requests / per_request;
    row.floor = (double)http->floor_cost.us / (double)http->floor_cost.requests;
    row.ratio = row.value / row.floor;
    snprintf(row.name, sizeof row.name, "%s, CPU of the server", load);
    snprintf(row.note, sizeof row.note, "all its threads");
    pawl__report_add(&row);
}

/* ---- submits ---- */

static struct pawl_span next_submit(void *ctx, int connection)
{
    (void)connection;
    return ((struct http *)ctx)->submit;
}

static const struct doing submitting = { .next = next_submit };

static double echo_slice(void *ctx)
{
    struct http *http = ctx;
    const struct pawl__load_result result = run(http, &http->echo, &http->floor_cost, &submitting);
    return per_s(&result, 1);
}

static double submit_slice(void *ctx)
{
    struct http *http = ctx;
    const struct pawl__load_result result = run(http, &http->pawl, &http->value_cost, &submitting);
    note_times(http, &result);
    return per_s(&result, 1);
}

void pawl__bench_http_submit(struct pawl__bench *bench)
{
    struct http http = { 0 };
    begin(&http, bench);
    const struct pawl__pairs pairs = { .name = "HTTP submit",
                                       .unit = "req/s",
                                       .floor = echo_slice,
                                       .floor_ctx = &http,
                                       .value = submit_slice,
                                       .value_ctx = &http,
                                       .kind = PAWL__GOAL_AT_LEAST,
                                       .goal = 0.5 };
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "64 connections; floor: a bare echo of the same requests");
    pawl__report_add(&row);
    report_times(&http, "HTTP submit");
    report_cpu(&http, "HTTP submit", 1);
    end(&http);
}

/* ---- fetch and ack ---- */

static struct pawl_span next_work(void *ctx, int connection)
{
    struct http *http = ctx;
    if (http->holds[connection]) return http->acks[connection];
    if (!http->waiting) return (struct pawl_span){ "", 0 };
    http->waiting--;
    return http->fetch;
}

static void worked(void *ctx, int connection, struct pawl_span body)
{
    static const char id[] = "\"id\":\"";
    struct http *http = ctx;
    if (http->holds[connection]) {
        http->holds[connection] = false;
        return;
    }
    const char *at = memmem(body.at, body.len, id, sizeof id - 1);
    if (!at) pawl__bench_die("a fetch came back empty: %.*s", (int)body.len, body.at);
    memcpy((char *)http->acks[connection].at + http->ack_id, at + sizeof id - 1, 36);
    http->holds[connection] = true;
}

static const struct doing working = { .next = next_work, .answered = worked };

static void fill(struct http *http)
{
    const int64_t want = WORK_JOBS_PER_S * http->bench->slice_us / 1000000;
    const int fd = pawl__http_connect(http->pawl.port);
    for (; http->waiting < want; http->waiting += FILL_JOBS) {
        pawl__http_send(fd, http->fill);
        pawl__http_receive(fd);
    }
    close(fd);
}

static double work_slice(void *ctx)
{
    struct http *http = ctx;
    fill(http);
    const struct pawl__load_result result = run(http, &http->pawl, &http->value_cost, &working);
    note_times(http, &result);
    return per_s(&result, 0.5);
}

void pawl__bench_http_work(struct pawl__bench *bench)
{
    struct http http = { 0 };
    begin(&http, bench);
    const struct pawl__pairs pairs = { .name = "HTTP fetch and ack",
                                       .unit = "pairs/s",
                                       .floor = echo_slice,
                                       .floor_ctx = &http,
                                       .value = work_slice,
                                       .value_ctx = &http,
                                       .kind = PAWL__GOAL_AT_LEAST,
                                       .goal = 0.25 };
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "64 connections; floor: a bare echo of a submit");
    pawl__report_add(&row);
    report_times(&http, "HTTP fetch and ack");
    report_cpu(&http, "HTTP fetch and ack", 1);
    end(&http);
}

/* ---- batches ---- */

static struct pawl_span next_batch(void *ctx, int connection)
{
    (void)connection;
    return ((struct http *)ctx)->batch;
}

static const struct doing batching = { .next = next_batch };

static double one_slice(void *ctx)
{
    struct http *http = ctx;
    const struct pawl__load_result result = run(http, &http->pawl, &http->floor_cost, &submitting);
    return per_s(&result, 1);
}

static double batch_slice(void *ctx)
{
    struct http *http = ctx;
    const struct pawl__load_result result = run(http, &http->pawl, &http->value_cost, &batching);
    note_times(http, &result);
    return per_s(&result, BATCH_JOBS);
}

void pawl__bench_http_batch(struct pawl__bench *bench)
{
    struct http http = { 0 };
    begin(&http, bench);
    const struct pawl__pairs pairs = { .name = "HTTP submit, 100 jobs a request",
                                       .unit = "jobs/s",
                                       .floor = one_slice,
                                       .floor_ctx = &http,
                                       .value = batch_slice,
                                       .value_ctx = &http,
                                       .kind = PAWL__GOAL_AT_LEAST,
                                       .goal = 8 };
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "64 connections; floor: one job a request");
    pawl__report_add(&row);
    report_times(&http, "HTTP submit, 100 jobs");
    report_cpu(&http, "HTTP submit, 100 jobs", BATCH_JOBS);
    end(&http);
}

/* ---- a submit to a worker that waits ---- */

static void report_pickup(const char *which, double wait_us, double echo_us, double goal_ms)
{
    struct pawl__row row = { .unit = "ms", .value = wait_us / 1e3, .floor = echo_us / 1e3 };
    row.ratio = row.value / row.floor;
    if (goal_ms > 0) {
        row.kind = PAWL__GOAL_VALUE_BELOW;
        row.goal = goal_ms;
    }
    snprintf(row.name, sizeof row.name, "HTTP submit to waiting fetch, %s", which);
    snprintf(row.note, sizeof row.note, "idle server; floor: one echo");
    pawl__report_add(&row);
}

static double sample_echo(int fd, struct pawl_span request)
{
    const int64_t start_us = pawl__bench_now_us();
    pawl__http_send(fd, request);
    pawl__http_receive(fd);
    return (double)(pawl__bench_now_us() - start_us);
}

/* From the first byte of the submit to the last byte of the job, excluding the reply to the submit.
 */
static double sample_pickup(struct http *http, int worker, int client, struct pawl_span wait)
{
    pawl__http_send(worker, wait);
    pawl__bench_sleep_us(3000);
    const int64_t start_us = pawl__bench_now_us();
    pawl__http_send(client, http->submit);
    const struct pawl_span body = pawl__http_receive(worker);
    const double took_us = (double)(pawl__bench_now_us() - start_us);
    worked(http, 0, body);
    pawl__http_receive(client);
    pawl__http_send(worker, http->acks[0]);
    pawl__http_receive(worker);
    http->holds[0] = false;
    return took_us;
}

void pawl__bench_http_pickup(struct pawl__bench *bench)
{
    struct http http = { 0 };
    double waits[PICKUPS], echoes[PICKUPS];
    const int count = bench->quick ? 20 : PICKUPS, late = count - 1 - count / 100;
    begin(&http, bench);
    const struct pawl_span wait =
        post_text("/ojs/v1/workers/fetch", "{\"queues\":[\"mail\"],\"wait_ms\":60000}");
    const int echo = pawl__http_connect(http.echo.port);
    const int worker = pawl__http_connect(http.pawl.port);
    const int client = pawl__http_connect(http.pawl.port);
    for (int i = 0; i < count; i++) {
        echoes[i] = sample_echo(echo, http.submit);
        waits[i] = sample_pickup(&http, worker, client, wait);
    }
    const double echo_us = pawl__median(echoes, count); // sorted from here on
    report_pickup("p50", pawl__median(waits, count), echo_us, 2);
    report_pickup("p99", waits[late], echoes[late], 0);
    close(echo);
    close(worker);
    close(client);
    free((char *)wait.at);
    end(&http);
}

/* ---- nothing to do ---- */

/* Fetches from an empty queue: they use everything that a request uses, and leave nothing behind.
 */
static void use_once(struct http *http, int fd)
{
    pawl__http_send(fd, http->fetch);
    pawl__http_receive(fd);
}

void pawl__bench_http_idle(struct pawl__bench *bench)
{
    struct http http = { .bench = bench };
    struct pawl__row row = { .unit = "KiB", .kind = PAWL__GOAL_VALUE_BELOW, .goal = 20 };
    struct rlimit limit;
    const int count = bench->quick ? 200 : IDLE_CONNECTIONS;
    int *fds = pawl__bench_calloc((size_t)count, sizeof *fds);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    make_requests(&http);
    pawl_start_serving(&http, 0);
    const int first = pawl__http_connect(http.pawl.port);
    for (int i = 0; i < count; i++) {
        use_once(&http, first);
    }
    const int64_t before_kib = pawl__child_kib(http.pawl.pid);
    for (int i = 0; i < count; i++) {
        fds[i] = pawl__http_connect(http.pawl.port);
        use_once(&http, fds[i]);
    }
    row.value = (double)(pawl__child_kib(http.pawl.pid) - before_kib) / count;
    snprintf(row.name, sizeof row.name, "HTTP, memory of an idle connection");
    snprintf(row.note, sizeof row.note, "resident, of %d that made one request each", count);
    pawl__report_add(&row);
    close(first);
    for (int i = 0; i < count; i++) {
        close(fds[i]);
    }
    free(fds);
    server_stop(&http.pawl, "pawl serve");
    free_requests(&http);
    pawl__bench_forget(bench, "http.db");
}
