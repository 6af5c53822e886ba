/* Work on other threads, and its way back to the loop: answers of the store to posted calls,
 * handlers that block, and background tasks that no request waits for. */
#include "http/transport/conn.h"

#include <assert.h>
#include <stdlib.h>

/* ---- posted calls: their answers come to the loop ---- */

void pawl__request_answered(struct pawl_answer *taken_answer)
{
    struct pawl__request *request = taken_answer->ctx;
    struct pawl__server *server = request->server;
    request->answer = taken_answer;
    pawl__lock(&server->mutex);
    bool first = !server->answers;
    request->next = server->answers;
    server->answers = request;
    pawl__unlock(&server->mutex);
    if (first) uv_async_send(&server->answered);
}

static struct pawl__request *take_answers(struct pawl__server *server)
{
    pawl__lock(&server->mutex);
    struct pawl__request *newest = server->answers;
    server->answers = NULL;
    pawl__unlock(&server->mutex);
    struct pawl__request *oldest = NULL;
    while (newest) {
        struct pawl__request *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

void pawl__answers_read(uv_async_t *async)
{
    struct pawl__server *server = async->data;
    struct pawl__request *request = take_answers(server);
    while (request) {
        struct pawl__request *next = request->next;
        struct pawl_answer *answer = request->answer;
        request->next = NULL;
        request->answer = NULL;
        server->working--;
        request->then(request, answer);
        request = next;
    }
}

/* ---- requests on the pool ---- */

struct task {
    uv_work_t work;
    struct pawl__request *request;
    pawl__handler_fn *fn;
};

static void run_task(uv_work_t *work)
{
    struct task *task = work->data;
    task->fn(task->request);
    assert(task->request->status || task->request->parking);
}

void pawl__request_park(struct pawl__request *request)
{
    assert(request->on_pool && request->parked);
    request->parking = true;
}

void pawl__request_to_loop(struct pawl__request *request, pawl__handler_fn *fn)
{
    assert(request->on_pool);
    request->parked = fn;
    request->parking = request->returning = true;
}

static void task_done(uv_work_t *work, int status)
{
    (void)status;
    struct pawl__request *request = ((struct task *)work->data)->request;
    request->server->working--;
    request->on_pool = false;
    if (request->status) {
        pawl__conn_send(request);
    } else if (!request->conn && !request->returning) { // the client went away meanwhile
        pawl__reply_refuse(request, PAWL__FAULT_REQUEST_TIMEOUT, "", "%s", PAWL__HUNG_UP_TEXT);
    } else {
        request->parking = request->returning = false;
        request->parked(request);
    }
}

void pawl__request_to_pool(struct pawl__request *request, pawl__handler_fn *fn)
{
    struct task *task = pawl__arena_calloc(&request->arena, 1, sizeof *task);
    if (!task) {
        pawl__reply_nomem(request);
        return;
    }
    task->request = request;
    task->fn = fn;
    task->work.data = task;
    request->on_pool = true;
    request->server->working++;
    if (uv_queue_work(&request->server->loop, &task->work, run_task, task_done)) {
        request->server->working--;
        request->on_pool = false;
        pawl__reply_refuse(request, PAWL__FAULT_UNAVAILABLE, "", "the server is too busy");
    }
}

/* ---- posted calls that a thread of the pool waits for ---- */

void pawl__calls_init(struct pawl__calls *calls)
{
    *calls = (struct pawl__calls){ 0 };
    pawl__mutex_init(&calls->mutex);
    pawl__cond_init(&calls->answered);
}

void pawl__calls_release(struct pawl__calls *calls)
{
    pawl__cond_release(&calls->answered);
    pawl__mutex_release(&calls->mutex);
}

static void add_waiting(struct pawl__calls *calls, size_t more)
{
    pawl__lock(&calls->mutex);
    calls->waiting += more;
    pawl__cond_signal(&calls->answered); // under the lock: the waiter's frame may go right after
    pawl__unlock(&calls->mutex);
}

void pawl__call_begin(struct pawl__calls *calls, struct pawl__call *call)
{
    *call = (struct pawl__call){ .calls = calls };
    add_waiting(calls, 1);
}

void pawl__call_withdraw(struct pawl__call *call)
{
    add_waiting(call->calls, (size_t)-1);
}

void pawl__call_answered(struct pawl_answer *taken_answer)
{
    struct pawl__call *call = taken_answer->ctx;
    call->answer = taken_answer;
    add_waiting(call->calls, (size_t)-1);
}

void pawl__calls_wait(struct pawl__calls *calls)
{
    pawl__lock(&calls->mutex);
    while (calls->waiting) {
        pawl__cond_wait(&calls->answered, &calls->mutex);
    }
    pawl__unlock(&calls->mutex);
}

/* ---- background tasks ---- */

struct background {
    uv_work_t work;
    struct pawl__server *server;
    void (*run)(void *ctx);
    void (*done)(void *ctx);
    void *ctx;
};

static void run_background(uv_work_t *work)
{
    struct background *task = work->data;
    task->run(task->ctx);
}

static void background_done(uv_work_t *work, int status)
{
    (void)status;
    struct background *task = work->data;
    task->server->working--;
    task->done(task->ctx);
    free(task);
}

bool pawl__background_run(struct pawl__server *server, void (*work)(void *ctx),
                          void (*done)(void *ctx), void *ctx)
{
    struct background *task = malloc(sizeof *task);
    if (!task) return false;
    *task = (struct background){ .server = server, .run = work, .done = done, .ctx = ctx };
    task->work.data = task;
    if (uv_queue_work(&server->loop, &task->work, run_background, background_done)) {
        free(task);
        return false;
    }
    server->working++;
    return true;
}
