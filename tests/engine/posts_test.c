/* Asynchronous clients: threads submit, claim, extend, fail and complete by posting, each with many
 * calls in progress, beside a node without workers, a reader, a listener and a watcher. Some
 * workers stop without a report, some are reported gone, some fail. Afterwards every job has been
 * completed once and every call answered once, the last of them while the store was closed.
 *
 * PAWL_TEST_SEED repeats a run, PAWL_TEST_SCALE is the percentage of the jobs. */
#include "base/rng.h"
#include "base/sync.h"
#include "support/rig.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/pawl.h>

enum {
    JOBS_FULL = 4000,
    JOBS_LEAST = 200,
    CLIENTS = 4,
    BATCH_MAX = 5,
    UNDER_WAY_MAX = 24, /* calls of one client */
    CLAIM_LIMIT = 8
};

struct client;

/* A call and all that it borrows until the answer. */
struct request {
    struct client *client;
    struct request *next;
    struct pawl_answer *answer;
    struct pawl_job_spec specs[BATCH_MAX];
    struct pawl_job_id ids[BATCH_MAX];
    struct pawl_run run;
    struct pawl_extension extension;
    struct pawl_report report;
    bool claims, completes;
};

struct client {
    pthread_t thread;
    struct pawl__rng rng;
    int64_t first, last; /* its jobs; the next to submit is `first` */
    int64_t under_way;
    bool failed;
    struct pawl__mutex mutex;
    struct pawl__cond change;
    /* guarded by mutex: */
    struct request *inbox;
};

static struct {
    struct pawl *pawl;
    uint64_t seed;
    int64_t jobs;
    atomic_uchar *completed; /* by job */
    atomic_llong done, posted, answered, wrong, ready, moves;
    atomic_bool over;
    struct client clients[CLIENTS];
} world;

#define prove(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("%s (repeat with PAWL_TEST_SEED=%" PRIu64 ")", #condition, world.seed);       \
        }                                                                                          \
    } while (0)

static struct pawl_job_id id_of(int64_t index)
{
    struct pawl_job_id id = { { 0x01, 0x97, 0x70, 0, 0, 0, 0x70, 0, 0x80 } };
    for (int i = 0; i < 4; i++) {
        id.b[12 + i] = (uint8_t)(index >> (24 - 8 * i));
    }
    return id;
}

static int64_t index_of(struct pawl_job_id id)
{
    int64_t index = 0;
    for (int i = 0; i < 4; i++) {
        index = index << 8 | id.b[12 + i];
    }
    return index;
}

/* ---- posting ---- */

/* On the library's thread: hands the answer to the client's own. */
static void deliver(struct pawl_answer *taken_answer)
{
    struct request *request = taken_answer->ctx;
    struct client *client = request->client;
    world.answered++;
    request->answer = taken_answer;
    pawl__lock(&client->mutex);
    request->next = client->inbox;
    client->inbox = request;
    pawl__cond_signal(&client->change);
    pawl__unlock(&client->mutex);
}

static struct request *new_request(struct client *client)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request) abort();
    request->client = client;
    client->under_way++;
    world.posted++;
    return request;
}

static void check_posted(struct client *client, enum pawl_err err, const struct pawl_diag *diag)
{
    if (!err) return;
    fprintf(stderr, "# a post was refused: %s\n", diag->text);
    client->failed = true;
}

static void post_submit(struct client *client)
{
    static const struct pawl_retry retry = { .attempts_max = 100,
                                             .backoff = PAWL_BACKOFF_IMMEDIATE };
    struct request *request = new_request(client);
    struct pawl_diag diag;
    size_t count = 1 + pawl__rng_below(&client->rng, BATCH_MAX);
    if ((int64_t)count > client->last - client->first)
        count = (size_t)(client->last - client->first);
    for (size_t i = 0; i < count; i++) {
        request->ids[i] = id_of(client->first++);
        request->specs[i] = (struct pawl_job_spec){
            .id = &request->ids[i], .type = "work", .retry = retry, .expires_in_ms = 86400000
        };
    }
    check_posted(client,
                 pawl_post_submit(world.pawl, request->specs, count, deliver, request, &diag),
                 &diag);
}

static void post_claim(struct client *client)
{
    static const char *const queues[] = { "default" };
    static const struct pawl_claim claim = { .queues = queues,
                                             .queue_count = 1,
                                             .worker = "far",
                                             .limit = CLAIM_LIMIT,
                                             .lease_ms = 600000 };
    struct request *request = new_request(client);
    struct pawl_diag diag;
    request->claims = true;
    check_posted(client, pawl_post_claim(world.pawl, &claim, deliver, request, &diag), &diag);
}

/* What becomes of a run: a job falls silent in its first, is lost in its second, now and then it
 * fails; so it never comes to three crashes. */
static void post_outcome(struct client *client, const struct pawl_job *job)
{
    struct request *request = new_request(client);
    struct pawl_diag diag;
    int64_t index = index_of(job->id);
    request->run = (struct pawl_run){ job->id, job->run };
    if (job->run == 1 && index % 50 == 0) {
        request->extension =
            (struct pawl_extension){ .runs = &request->run, .count = 1, .lease_ms = 1 };
        check_posted(client,
                     pawl_post_extend(world.pawl, &request->extension, deliver, request, &diag),
                     &diag);
    } else if (job->run == 2 || pawl__rng_below(&client->rng, 5) == 0) {
        request->report = (struct pawl_report){ .type = "oops", .lapse = job->run == 2 };
        check_posted(
            client,
            pawl_post_fail(world.pawl, &request->run, &request->report, deliver, request, &diag),
            &diag);
    } else {
        request->completes = true;
        struct pawl_span result = { "{\"ok\":true}", 11 };
        check_posted(client,
                     pawl_post_complete(world.pawl, &request->run, result, deliver, request, &diag),
                     &diag);
    }
}

/* ---- a client ---- */

static void handle_answer(struct request *request)
{
    struct client *client = request->client;
    struct pawl_answer *answer = request->answer;
    client->under_way--;
    if (answer->err || answer->ctx != request) {
        fprintf(stderr, "# an answer says: %s\n", answer->diag.text);
        world.wrong++;
    }
    for (size_t i = 0; request->claims && i < answer->job_count; i++) {
        post_outcome(client, &answer->jobs[i]);
    }
    if (answer->result_count && answer->results[0]) world.wrong++;
    if (request->completes && !answer->err) {
        world.completed[index_of(request->run.id)]++;
        if (++world.done == world.jobs) world.over = true;
    }
    pawl_answer_free(answer);
    free(request);
}

static void handle_inbox(struct client *client, bool wait)
{
    pawl__lock(&client->mutex);
    while (wait && !client->inbox) {
        pawl__cond_wait(&client->change, &client->mutex);
    }
    struct request *request = client->inbox;
    client->inbox = NULL;
    pawl__unlock(&client->mutex);
    while (request) {
        struct request *next = request->next;
        handle_answer(request);
        request = next;
    }
}

static void *be_client(void *arg)
{
    struct client *client = arg;
    while (!world.over && !client->failed) {
        if (client->first < client->last && pawl__rng_below(&client->rng, 2)) {
            post_submit(client);
        } else {
            post_claim(client);
        }
        handle_inbox(client, client->under_way >= UNDER_WAY_MAX);
    }
    return NULL;
}

/* ---- somebody else ---- */

static void look(void *ctx, bool foreign)
{
    (void)ctx;
    (void)foreign;
    world.ready++;
}

static void listen(void *ctx, const struct pawl_moved *moved)
{
    (void)ctx;
    (void)moved;
    world.moves++;
}

static void *meddle(void *arg)
{
    (void)arg;
    for (int64_t i = 0; !world.over; i++) {
        struct pawl_settings settings = { .at = NULL };
        int64_t count;
        bool ok = !pawl_watch(world.pawl, i % 2 ? NULL : look, NULL, NULL) &&
                  !pawl_listen(world.pawl, i % 3 ? NULL : listen, NULL, NULL) &&
                  !pawl_setting_put(world.pawl, "meddler.round", i % 2 ? "odd" : "even", NULL) &&
                  !pawl_settings_get(world.pawl, "meddler.", &settings, NULL) &&
                  settings.count == 1 && !pawl_count(world.pawl, NULL, &count, NULL);
        pawl_settings_release(&settings);
        if (!ok) world.wrong++;
    }
    return NULL;
}

/* ---- the test ---- */

static void begin(const char *url)
{
    struct pawl_config config = { .store = url,
                                  .durability = PAWL_DURABILITY_RELAXED,
                                  .seed = world.seed + 1 };
    struct pawl_node_config node = { .workers = -1, .lease_ms = 1500 };
    struct pawl_diag diag = { .text = "" };
    if (pawl_open(&config, &world.pawl, &diag) || pawl_start(world.pawl, &node, &diag)) {
        fail_msg("%s", diag.text);
    }
    for (int64_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        pawl__rng_seed(&client->rng, world.seed * 31 + (uint64_t)i);
        pawl__mutex_init(&client->mutex);
        pawl__cond_init(&client->change);
        client->first = world.jobs * i / CLIENTS;
        client->last = world.jobs * (i + 1) / CLIENTS;
    }
}

static void end(void)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        while (client->inbox) { // what was answered since: claims of nothing
            struct request *request = client->inbox;
            client->inbox = request->next;
            world.wrong += request->answer->err || request->answer->job_count;
            pawl_answer_free(request->answer);
            free(request);
        }
        pawl__cond_release(&client->change);
        pawl__mutex_release(&client->mutex);
    }
}

static void every_job_is_completed_once_and_every_call_answered_once(void **state)
{
    const struct store_kind *kind = store_kind_shared();
    char url[RIG_URL_BYTES];
    (void)state;
    kind->make(url, sizeof url);
    begin(url);
    pthread_t meddler;
    prove(pthread_create(&meddler, NULL, meddle, NULL) == 0);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        prove(pthread_create(&client->thread, NULL, be_client, client) == 0);
    }
    bool refused = false;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(world.clients[i].thread, NULL);
        refused |= world.clients[i].failed;
    }
    pthread_join(meddler, NULL);
    pawl_close(world.pawl); // with claims of all clients under way
    prove(world.answered == world.posted);
    end();
    prove(!refused);
    prove(world.wrong == 0);
    for (int64_t i = 0; i < world.jobs; i++) {
        prove(world.completed[i] == 1);
    }
    struct pawl_config config = { .store = url };
    int64_t count = -1;
    prove(pawl_open(&config, &world.pawl, NULL) == PAWL_OK);
    struct pawl_filter completed = { .states = PAWL_STATE_BIT(PAWL_STATE_COMPLETED) };
    prove(pawl_count(world.pawl, &completed, &count, NULL) == PAWL_OK);
    prove(count == world.jobs);
    prove(pawl_check(world.pawl, NULL, NULL, NULL) == PAWL_OK);
    pawl_close(world.pawl);
    print_message("# %lld calls, %lld moves heard, %lld times told of work\n",
                  (long long)world.posted, (long long)world.moves, (long long)world.ready);
    kind->dispose(url);
}

int main(void)
{
    const char *text = getenv("PAWL_TEST_SEED");
    world.seed = text ? strtoull(text, NULL, 10) : pawl__rng_system_seed() % 1000000;
    world.jobs = scaled(JOBS_FULL);
    if (world.jobs < JOBS_LEAST) world.jobs = JOBS_LEAST;
    world.completed = calloc((size_t)world.jobs, sizeof *world.completed);
    if (!world.completed) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_completed_once_and_every_call_answered_once),
    };
    int failed = cmocka_run_group_tests_name("engine_posts", tests, NULL, NULL);
    free(world.completed);
    return failed;
}
