/* What firings cost beside plain submits: CPU of this process, and of the server if there is one,
 * which other programs on the machine change less than the time that it takes. */
#include "bench.h"

#include "api/api.h"
#include "base/clock.h"

#include <assert.h>

enum {
    MANY = 10000, /* schedules that are due in the same second; or ... */
    MANY_QUICK = 200,
    HOUR_MS = 3600000,
    NAME_BYTES = 24
};

struct schedules {
    struct pawl *pawl;
    pawl__server_us_fn *server_us;
    size_t many;
    int64_t shift_ms; /* by which the clock is ahead */
    struct pawl_clock clock;
    struct pawl_job_spec *specs;
    struct pawl_submitted *out;
    char args[PAWL__BENCH_PAYLOAD_BYTES];
};

static int64_t read_wall(void *ctx)
{
    const struct schedules *schedules = ctx;
    return pawl__clock_wall_ms(&pawl__clock_system) + schedules->shift_ms;
}

static int64_t read_mono(void *ctx)
{
    (void)ctx;
    return pawl__clock_mono_us(&pawl__clock_system);
}

static double cpu_us(const struct schedules *schedules)
{
    double server_us = schedules->server_us ? schedules->server_us() : 0;
    return (double)pawl__bench_clock_us(CLOCK_PROCESS_CPUTIME_ID) + server_us;
}

static struct pawl_job_spec job_of(struct schedules *schedules)
{
    return (struct pawl_job_spec){ .type = "mail.send",
                                   .args = { schedules->args, PAWL__BENCH_PAYLOAD_BYTES } };
}

static double submit_slice(void *ctx)
{
    struct schedules *schedules = ctx;
    struct pawl_diag diag;
    for (size_t i = 0; i < schedules->many; i++) {
        schedules->specs[i] = job_of(schedules);
    }
    const double start_us = cpu_us(schedules);
    pawl__bench_pawl_check(
        pawl_submit_many(schedules->pawl, schedules->specs, schedules->many, schedules->out, &diag),
        &diag);
    return (cpu_us(schedules) - start_us) / (double)schedules->many;
}

/* One instant of each. */
static double fire_slice(void *ctx)
{
    struct schedules *schedules = ctx;
    int64_t fired = 0;
    schedules->shift_ms += HOUR_MS;
    const double start_us = cpu_us(schedules);
    for (bool more = true; more;) {
        struct pawl__op op = { .kind = PAWL__OP_FIRE, .sweep.limit = PAWL__MAINTENANCE_MAX };
        if (pawl__store_do(schedules->pawl->store, &op)) pawl__bench_check(&op);
        pawl__arena_release(&op.arena);
        fired += op.sweep.moved;
        more = op.sweep.more;
    }
    assert(fired == (int64_t)schedules->many);
    return (cpu_us(schedules) - start_us) / (double)fired;
}

static void put_all(struct schedules *schedules)
{
    for (size_t i = 0; i < schedules->many; i++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "s%05zu", i);
        const struct pawl_schedule_spec spec = { .name = name,
                                                 .recurrence.expression = "@hourly",
                                                 .job = job_of(schedules),
                                                 .overlap = PAWL_OVERLAP_ALLOW };
        struct pawl_diag diag;
        pawl__bench_pawl_check(pawl_schedule_put(schedules->pawl, &spec, NULL, NULL, &diag), &diag);
    }
}

void pawl__schedules_run(struct pawl__bench *bench, pawl__server_us_fn *server_us)
{
    struct schedules *schedules = pawl__bench_calloc(1, sizeof *schedules);
    const struct pawl__url url = pawl__bench_url(bench, "schedules.db");
    struct pawl_diag diag;
    schedules->server_us = server_us;
    schedules->many = bench->quick ? MANY_QUICK : MANY;
    schedules->clock =
        (struct pawl_clock){ .wall_ms = read_wall, .mono_us = read_mono, .ctx = schedules };
    schedules->specs = pawl__bench_calloc(MANY, sizeof *schedules->specs);
    schedules->out = pawl__bench_calloc(MANY, sizeof *schedules->out);
    pawl__payload(1, schedules->args);
    const struct pawl_config config = { .store = url.text,
                                        .clock = &schedules->clock,
                                        .durability = PAWL_DURABILITY_RELAXED };
    pawl__bench_pawl_check(pawl_open(&config, &schedules->pawl, &diag), &diag);
    put_all(schedules);
    const struct pawl__pairs pairs = { .name = "10,000 schedules due at once",
                                       .unit = "us CPU/job",
                                       .floor = submit_slice,
                                       .floor_ctx = schedules,
                                       .value = fire_slice,
                                       .value_ctx = schedules,
                                       .kind = PAWL__GOAL_AT_MOST,
                                       .goal = 1.5,
                                       .count = 5 };
    struct pawl__row row = pawl__pairs_run(bench, &pairs);
    snprintf(row.note, sizeof row.note, "against 10,000 plain submits");
    pawl__report_add(&row);
    pawl_close(schedules->pawl);
    free(schedules->specs);
    free(schedules->out);
    free(schedules);
}
