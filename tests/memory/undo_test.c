/* The store in memory from the inside: its indexes keep their order, and a transaction that fails,
 * wherever that is, leaves every row in its place. */
#include "store/memory/memory.h"

#include "base/test_kit.h"
#include "fault/alloc.h"
#include "support/hand_clock.h"

enum { ROWS = 300, OPS = 10 };

/* ---- indexes ---- */

struct item {
    bool linked;
    union {
        struct pawl__mem_row row;
        char room[sizeof(struct pawl__mem_row) + sizeof(struct pawl__mem_node)];
    };
};

static int by_seq(const struct pawl__mem_row *a, const struct pawl__mem_row *b)
{
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void expect_in_order(struct item *items, const struct pawl__mem_index *index, uint64_t seed)
{
    const struct pawl__mem_row *row = pawl__mem_from(index, NULL), *last = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        if (!items[i].linked) continue;
        prove(row == &items[i].row);
        prove(pawl__mem_from(index, row) == row);
        prove(pawl__mem_before(index, row) == last);
        last = row;
        row = pawl__mem_after(index, row);
    }
    prove(!row && pawl__mem_before(index, NULL) == last);
}

static void index_keeps_its_order(void **state)
{
    (void)state;
    for_seeds(seed, 20)
    {
        struct pawl__rng rng;
        struct pawl__mem_index index = { .compare = by_seq };
        struct item *items = calloc(ROWS, sizeof *items);
        assert_non_null(items);
        pawl__rng_seed(&rng, seed);
        for (int step = 0; step < 4 * ROWS; step++) {
            struct item *item = &items[pawl__rng_below(&rng, ROWS)];
            item->row.seq = item - items;
            item->row.weight = item->linked ? item->row.weight : pawl__rng_below(&rng, 50);
            if (item->linked) {
                pawl__mem_unlink(&index, &item->row);
            } else {
                pawl__mem_link(&index, &item->row);
            }
            item->linked = !item->linked;
            if (step % 16 == 0) expect_in_order(items, &index, seed);
        }
        expect_in_order(items, &index, seed);
        free(items);
    }
}

/* ---- a store, and operations on it ---- */

struct bench {
    struct hand_clock clock;
    struct pawl__backend *mem;
    struct pawl__op ops[OPS];
    struct pawl__new_job jobs[OPS];
    struct pawl_job_spec specs[OPS];
    struct pawl_submitted out[OPS];
    size_t count;
};

static const char *const queues[] = { "default" };

static struct pawl_job_id id_of(uint8_t number)
{
    return (struct pawl_job_id){ .b = { 1, [6] = 0x70, [15] = number } };
}

static void open_bench(struct bench *b)
{
    memset(b, 0, sizeof *b);
    hand_clock_init(&b->clock, HAND_CLOCK_START_MS);
    struct pawl_config config = { .store = "memory:", .clock = &b->clock.clock, .seed = 1 };
    assert_int_equal(PAWL_OK, pawl__backend_memory.open(&config, &b->mem, NULL));
}

static struct pawl__op *add(struct bench *b, enum pawl__op_kind kind)
{
    assert_true(b->count < OPS);
    b->ops[b->count] = (struct pawl__op){ .kind = kind, .chained = true };
    return &b->ops[b->count++];
}

static void add_submit(struct bench *b, uint8_t number, bool fresh_id, const char *queue)
{
    size_t at = b->count;
    b->specs[at] = (struct pawl_job_spec){ .type = "work", .queue = queue };
    pawl__retry_resolve(&b->specs[at].retry);
    b->jobs[at] = (struct pawl__new_job){ .id = id_of(number),
                                          .fresh_id = fresh_id,
                                          .spec = &b->specs[at],
                                          .keys = { { .kind = PAWL__KEY_BUSINESS,
                                                      .digest = { number },
                                                      .states = pawl__states_live } },
                                          .key_count = fresh_id ? 0 : 1 };
    struct pawl__op *op = add(b, PAWL__OP_SUBMIT);
    op->submit.jobs = &b->jobs[at];
    op->submit.count = 1;
    op->submit.out = &b->out[at];
}

static void add_claim(struct bench *b, int64_t limit)
{
    struct pawl__op *op = add(b, PAWL__OP_CLAIM);
    op->claim.queues = queues;
    op->claim.queue_count = 1;
    op->claim.limit = limit;
    op->claim.worker = "worker";
    op->claim.lease_ms = 1000;
}

static void add_complete(struct bench *b, uint8_t number)
{
    struct pawl__op *op = add(b, PAWL__OP_COMPLETE);
    op->complete.ref = (struct pawl_run){ .id = id_of(number), .run = 1 };
    op->complete.result = (struct pawl_span){ "[1]", 3 };
}

static void add_fail(struct bench *b, uint8_t number)
{
    struct pawl__op *op = add(b, PAWL__OP_FAIL);
    op->fail.ref = (struct pawl_run){ .id = id_of(number), .run = 1 };
    op->fail.report.message = "no";
}

static void add_delete(struct bench *b, uint8_t number)
{
    add(b, PAWL__OP_DELETE)->remove.id = id_of(number);
}

static void add_pause(struct bench *b, const char *queue)
{
    struct pawl__op *op = add(b, PAWL__OP_QUEUE_PAUSE);
    op->queue.queue = queue;
    op->queue.paused = true;
}

/* All that were added, in one transaction. */
static enum pawl_err apply(struct bench *b)
{
    struct pawl__op *ops[OPS];
    for (size_t i = 0; i < b->count; i++) {
        ops[i] = &b->ops[i];
    }
    enum pawl_err err = pawl__backend_memory.apply(b->mem, ops, b->count, NULL);
    for (size_t i = 0; i < b->count; i++) {
        pawl__arena_release(&b->ops[i].arena);
    }
    b->count = 0;
    return err;
}

static void expect_sound(struct bench *b)
{
    assert_int_equal(PAWL_OK, pawl__backend_memory.check(b->mem, NULL, NULL, NULL));
}

static void close_bench(struct bench *b)
{
    pawl__backend_memory.close(b->mem);
}

/* ---- what is in a store: rows never change, so their addresses tell ---- */

struct picture {
    const struct pawl__mem_row *rows[256];
    size_t count;
    uint32_t lanes, queues;
    bool paused;
    int64_t bytes;
};

static struct picture picture_of(const struct pawl__backend *mem)
{
    struct picture picture = { .lanes = mem->set.catalog.lane_count,
                               .queues = mem->set.catalog.queue_count,
                               .bytes = mem->bytes };
    for (int table = 0; table < PAWL__MEM_TABLES; table++) {
        for (size_t i = 0; i < pawl__mem_shapes[table].order_count; i++) {
            PAWL__MEM_EACH(row, mem, (enum pawl__mem_table)table, i)
            {
                assert_true(picture.count < COUNT(picture.rows));
                picture.rows[picture.count++] = row;
            }
        }
    }
    picture.paused = pawl__catalog_queue(&mem->set.catalog, "default")->paused;
    return picture;
}

/* Four jobs: two run, one has ended, one waits. */
static void fill(struct bench *b)
{
    add_submit(b, 1, false, "default");
    add_submit(b, 2, false, "default");
    add_submit(b, 3, false, "default");
    add_claim(b, 3);
    add_complete(b, 1);
    add_submit(b, 4, false, "default");
    assert_int_equal(PAWL_OK, apply(b));
}

/* One more of everything, and the ends of what is there. */
static void add_all(struct bench *b)
{
    add_submit(b, 5, false, "other");
    add_delete(b, 1);
    add_fail(b, 2);
    add_complete(b, 3);
    add_pause(b, "default");
    add_pause(b, "third");
    add_claim(b, 1);
}

static void failed_transaction_leaves_every_row_in_its_place(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b);
    fill(&b);
    enum pawl_err err = PAWL_ERR_NOMEM;
    int64_t nth = 0;
    while (err) {
        struct picture before = picture_of(b.mem);
        add_all(&b);
        alloc_arm((struct alloc_plan){ SCARCE_OURS, .nth = ++nth, .count = 1 });
        err = apply(&b);
        alloc_arm((struct alloc_plan){ 0 });
        struct picture after = picture_of(b.mem);
        assert_true(!err || err == PAWL_ERR_NOMEM);
        if (err) assert_memory_equal(&before, &after, sizeof before);
        expect_sound(&b);
    }
    assert_true(nth > 10);
    assert_null(pawl__mem_job_find(b.mem, id_of(1)));
    assert_int_equal(PAWL_STATE_COMPLETED,
                     pawl__mem_job_of(pawl__mem_job_find(b.mem, id_of(3)))->state);
    close_bench(&b);
}

/* Its id is said to be new and is not looked for: the store finds out when it writes. */
static void id_that_is_taken_all_the_same_is_refused_alone(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b);
    fill(&b);
    add_submit(&b, 6, true, "default");
    add_submit(&b, 4, true, "default");
    assert_int_equal(PAWL_OK, apply(&b));
    assert_int_equal(PAWL_OK, b.ops[0].err);
    assert_int_equal(PAWL_ERR_EXISTS, b.ops[1].err);
    assert_non_null(pawl__mem_job_find(b.mem, id_of(6)));
    expect_sound(&b);
    close_bench(&b);
}

/* No row of another table is overwritten by one that is to be new: the batch is done again. */
static void row_that_is_there_all_the_same_fails_the_batch(void **state)
{
    (void)state;
    static const union {
        struct pawl__key_row key;
        struct pawl__node node;
        struct pawl__lock lock;
        struct pawl_token token;
    } rows[] = { { .key = { .digest = { "0123456789abcdef", 16 } } },
                 { .node = { .name = "n" } },
                 { .lock = { .name = "n", .owner = "o" } },
                 { .token = { .id = "n" } } };
    static const enum pawl__table tables[] = { PAWL__TABLE_KEY_NEW, PAWL__TABLE_NODE_NEW,
                                               PAWL__TABLE_LOCK_NEW, PAWL__TABLE_TOKEN_NEW };
    const struct pawl__core_table *core = &pawl__mem_core;
    struct bench b;
    open_bench(&b);
    for (size_t i = 0; i < 2 * COUNT(tables); i++) {
        size_t at = i % COUNT(tables);
        bool there = i >= COUNT(tables);
        assert_int_equal(PAWL_OK, core->begin(b.mem, NULL, 0));
        pawl__set_put(&b.mem->set, tables[at], &rows[at]);
        assert_int_equal(there ? PAWL_ERR_BUSY : PAWL_OK, core->store(b.mem, &b.mem->set));
        pawl__set_clear(&b.mem->set);
        if (!there) assert_int_equal(PAWL_OK, core->commit(b.mem));
        if (there) core->rollback(b.mem);
        assert_int_equal(there ? PAWL__RETRY_YES : PAWL__RETRY_NO, core->retry(b.mem));
    }
    close_bench(&b);
}

int main(void)
{
    alloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_keeps_its_order),
        cmocka_unit_test(failed_transaction_leaves_every_row_in_its_place),
        cmocka_unit_test(id_that_is_taken_all_the_same_is_refused_alone),
        cmocka_unit_test(row_that_is_there_all_the_same_fails_the_batch),
    };
    return cmocka_run_group_tests_name("undo", tests, NULL, NULL);
}
