/* Workers, for operators: who is there, and what they should do. On the loop, which keeps them. */
#include "http/local/local.h"
#include "http/admin/admin.h"
#include "http/ojs/ojs.h"

#include <string.h>

struct census {
    int64_t running, quiet, stale;
};

static struct census take_census(const struct pawl__workers *workers)
{
    struct census census = { 0 };
    const struct pawl__worker *worker = NULL;
    while ((worker = pawl__workers_next(workers, worker))) {
        census.stale += worker->dead;
        census.running += !worker->dead && pawl__worker_takes(worker);
        census.quiet += !worker->dead && !pawl__worker_takes(worker);
    }
    return census;
}

void pawl__on_admin_workers(struct pawl__request *request)
{
    const struct pawl__workers *workers = request->server->workers;
    struct census census = take_census(workers);
    struct pawl__buf *out = &request->reply;
    int64_t page = 1, per_page = 20, place = 0;
    if (!pawl__request_int(request, "page", 1, 100000, &page) ||
        !pawl__request_int(request, "per_page", 1, 100, &per_page)) {
        return;
    }
    int64_t first = (page - 1) * per_page;
    const struct pawl__worker *worker = NULL;
    pawl__buf_add_text(out, "{\"items\":[");
    while ((worker = pawl__workers_next(workers, worker)) && place < first + per_page) {
        if (place >= first) {
            if (place > first) pawl__buf_add(out, ",", 1);
            pawl__worker_print(out, worker);
        }
        place++;
    }
    pawl__buf_printf(out,
                     "],\"summary\":{\"total\":%zu,\"running\":%lld,\"quiet\":%lld,\"stale\":%lld},"
                     "\"pagination\":{\"total\":%zu,\"page\":%lld,\"per_page\":%lld}}",
                     pawl__workers_count(workers), (long long)census.running,
                     (long long)census.quiet, (long long)census.stale, pawl__workers_count(workers),
                     (long long)page, (long long)per_page);
    pawl__reply(request, 200);
}

/* NULL: answered. */
static struct pawl__worker *find(struct pawl__request *request)
{
    struct pawl__worker *worker = pawl__workers_find(request->server->workers, request->parts[0]);
    if (!worker) pawl__reply_not_found(request, "worker", request->parts[0]);
    return worker;
}

void pawl__on_admin_worker(struct pawl__request *request)
{
    const struct pawl__worker *worker = find(request);
    if (!worker) return;
    pawl__worker_print(&request->reply, worker);
    pawl__reply(request, 200);
}

void pawl__on_admin_worker_forget(struct pawl__request *request)
{
    if (!find(request)) return;
    pawl__workers_forget(request->server->workers, request->parts[0]);
    pawl__buf_add_text(&request->reply, "{\"deleted\":true,\"worker_id\":");
    pawl__buf_add_json(&request->reply, request->parts[0], strlen(request->parts[0]));
    pawl__buf_add_text(&request->reply, "}");
    pawl__reply(request, 200);
}

static void direct(struct pawl__request *request, enum pawl__worker_state directive)
{
    if (!pawl__workers_direct(request->server, request->parts[0], directive)) {
        pawl__reply_nomem(request);
        return;
    }
    const struct pawl__worker *worker = find(request);
    if (!worker) return;
    pawl__worker_print(&request->reply, worker);
    pawl__reply(request, 200);
}

#define X(name, directive)                                                                         \
    void pawl__on_admin_worker_##name(struct pawl__request *request)                               \
    {                                                                                              \
        direct(request, PAWL__WORKER_##directive);                                                 \
    }
X(quiet, QUIET)
X(terminate, TERMINATE)
X(resume, RUNNING)
#undef X

/* {directive}: for all workers that are there. */
void pawl__on_admin_workers_direct(struct pawl__request *request)
{
    struct pawl__workers *workers = request->server->workers;
    struct pawl__json json;
    const char *text = NULL;
    if (!pawl__request_json(request, false, &json) ||
        !pawl__body_text(request, &json, 0, "directive", &text)) {
        return;
    }
    enum pawl__worker_state directive = PAWL__WORKER_STATE_END;
    if (text) directive = pawl__worker_state_of(strcmp(text, "resume") == 0 ? "running" : text);
    if (directive == PAWL__WORKER_STATE_END) {
        pawl__reply_invalid(request, "directive",
                            "directive must be \"quiet\", \"resume\" or \"terminate\"");
        return;
    }
    pawl__workers_direct_all(workers, directive);
    pawl__buf_printf(&request->reply, "{\"directive\":\"%s\",\"workers\":%zu}",
                     pawl__worker_state_name(directive), pawl__workers_count(workers));
    pawl__reply(request, 200);
}
