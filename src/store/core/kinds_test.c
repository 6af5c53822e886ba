/* Each kind of operation is decided somewhere: a kind that is in no table is found here, before a
 * caller finds it. */
#include "base/test_kit.h"
#include "store/core/set.h"

/* What each backend decides by itself, in the table of its apply.c. */
static bool is_the_backends(enum pawl__op_kind kind)
{
    return kind == PAWL__OP_ASSIGN || kind == PAWL__OP_QUEUE_PAUSE;
}

static void each_kind_is_decided_somewhere(void **state)
{
#define X(name, text, ...) text,
    static const char *const texts[PAWL__OP_END] = { PAWL__OPS(X) };
#undef X
    (void)state;
    for (int kind = 0; kind < PAWL__OP_END; kind++) {
        const struct pawl__op op = { .kind = (enum pawl__op_kind)kind };
        bool core = pawl__core_decides(&op) || pawl__core_scans(&op);
        if (!core && !is_the_backends(op.kind)) fail_msg("nothing decides %s", texts[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_kind_is_decided_somewhere) };
    return cmocka_run_group_tests_name("store_kinds", tests, NULL, NULL);
}
