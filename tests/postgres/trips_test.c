/* How many round trips to the server an operation makes: a number that does not grow with what it
 * meets on its way. A round trip costs more than most of what is done in it. */
#include "postgres/gate.h"
#include "postgres/session.h"
#include "support/ops.h"

struct stage {
    char url[RIG_URL_BYTES];
    struct gate gate;
    struct rig rig; /* behind the gate */
};

static void open_stage(struct stage *stage)
{
    const char *host = strstr(getenv("PAWL_TEST_POSTGRES"), "host=");
    char dir[64], url[RIG_URL_BYTES];
    snprintf(dir, sizeof dir, "%.*s", (int)strcspn(host + 5, "&"), host + 5);
    postgres_make(stage->url, sizeof stage->url);
    gate_open(&stage->gate, dir);
    gate_url(&stage->gate, stage->url, "", url, sizeof url);
    rig_open_url(&stage->rig, url);
}

static void close_stage(struct stage *stage)
{
    rig_check(&stage->rig);
    rig_close(&stage->rig);
    gate_close(&stage->gate);
    postgres_dispose(stage->url);
}

/* A job is claimed that stands behind so many whose time is over. */
static int trips_past_expired(struct stage *stage, size_t count)
{
    struct rig *rig = &stage->rig;
    int64_t expired = count_state(rig, PAWL_STATE_EXPIRED);
    submit_n(rig, count, &(struct pawl_job_spec){ .expires_in_ms = 1000 });
    rig_advance(rig, 2000);
    struct pawl_job_id id = submit_one(rig, NULL);
    int before = gate_trips(&stage->gate);
    struct claimed claimed = claim_n(rig, "default", 1);
    int trips = gate_trips(&stage->gate) - before;
    assert_int_equal(1, claimed.count);
    assert_id(id, claimed.at[0].id);
    assert_i64((int64_t)count, count_state(rig, PAWL_STATE_EXPIRED) - expired);
    return trips;
}

static void claim_past_expired_jobs(void **state)
{
    (void)state;
    struct stage stage;
    open_stage(&stage);
    int one = trips_past_expired(&stage, 1), many = trips_past_expired(&stage, 800);
    print_message("# %d round trips past one job, %d past 800\n", one, many);
    assert_true(many <= 3 * one);
    close_stage(&stage);
}

int main(void)
{
    if (session_kind() == NULL) {
        printf("1..0 # SKIP PAWL_TEST_POSTGRES names no server\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_past_expired_jobs),
    };
    return cmocka_run_group_tests_name("trips", tests, NULL, NULL);
}
