/* Start-up leases through the public API, between processes: this program starts copies of itself.
 */
#include "support/ops.h"

#include <unistd.h>

enum { OTHERS = 3, TTL_MS = 60000 };

static const char *program;

static struct pawl *open_as(struct rig *rig, const char *url, struct hand_clock *clock)
{
    struct pawl_config config = { .store = url, .clock = &clock->clock, .seed = 7 };
    struct pawl *pawl = NULL;
    assert_ok(rig, pawl_open(&config, &pawl, &rig->diag));
    return pawl;
}

/* ---- the others ---- */

/* What another process was told: its number, what came of it, and the diagnosis. */
struct word {
    FILE *pipe;
    long pid;
    char err[32], text[336];
};

static int be_another(const char *url, const char *now_ms, const char *action)
{
    struct hand_clock clock;
    struct pawl_diag diag = { 0 };
    struct pawl *pawl = NULL;
    hand_clock_init(&clock, strtoll(now_ms, NULL, 10));
    struct pawl_config config = { .store = url, .clock = &clock.clock, .seed = 7 };
    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err) err = pawl_startup_try(pawl, action, TTL_MS, &diag);
    printf("%ld %s %s\n", (long)getpid(), pawl_err_name(err), diag.text);
    fflush(stdout);
    _exit(0); // as if it were killed: nothing is closed, nothing given back
}

static void ask_another(struct rig *rig, const char *action, struct word *word)
{
    const char *command = rig_text(rig, "exec '%s' --try '%s' %lld %s", program, rig->url,
                                   (long long)rig_now(rig), action);
    word->pipe = popen(command, "r");
    assert_non_null(word->pipe);
}

static void hear(struct word *word)
{
    char line[sizeof word->text + 64];
    assert_non_null(fgets(line, sizeof line, word->pipe));
    word->text[0] = '\0';
    assert_true(sscanf(line, "%ld %31s %[^\n]", &word->pid, word->err, word->text) >= 2);
    assert_int_equal(0, pclose(word->pipe));
}

static struct pawl_lock lock_of(struct rig *rig, struct pawl *pawl, const char *name)
{
    struct pawl_locks locks = { 0 };
    struct pawl_lock found = { 0 };
    assert_ok(rig, pawl_locks_get(pawl, &locks, &rig->diag));
    for (size_t i = 0; i < locks.count; i++) {
        if (strcmp(locks.at[i].name, name) != 0) continue;
        found = locks.at[i];
        found.owner = rig_text(rig, "%s", locks.at[i].owner);
    }
    pawl_locks_release(&locks);
    assert_non_null(found.owner);
    return found;
}

/* ---- the tests ---- */

static void one_process_gets_it_and_the_others_hear_who(struct rig *rig)
{
    struct word words[OTHERS];
    int winner = -1;
    for (int i = 0; i < OTHERS; i++)
        ask_another(rig, "wipe", &words[i]);
    for (int i = 0; i < OTHERS; i++) {
        hear(&words[i]);
        if (strcmp(words[i].err, "OK") != 0) continue;
        assert_int_equal(-1, winner);
        winner = i;
    }
    assert_int_not_equal(-1, winner);
    struct pawl *pawl = open_as(rig, rig->url, rig->clock);
    struct pawl_lock lock = lock_of(rig, pawl, "startup.wipe");
    const char *pid = rig_text(rig, "-%ld-", words[winner].pid);
    assert_within(pid, lock.owner);
    assert_i64(rig_now(rig) + TTL_MS, lock.expires_at_ms);
    for (int i = 0; i < OTHERS; i++) {
        if (i == winner) continue;
        assert_text("HELD", words[i].err);
        assert_within(lock.owner, words[i].text);
        assert_within("\"startup.wipe\" for another 60000 ms", words[i].text);
    }
    assert_err(rig, PAWL_ERR_HELD, pawl_startup_try(pawl, "wipe", TTL_MS, &rig->diag));
    assert_within(pid, rig->diag.text);
    assert_ok(rig, pawl_startup_try(pawl, "warm up", TTL_MS, &rig->diag)); // that is another
    pawl_close(pawl);
}

/* The process that had it is dead, and that changes nothing: it may have done it. */
static void it_lapses_and_its_number_grows(struct rig *rig)
{
    struct word word = { 0 };
    ask_another(rig, "wipe", &word);
    hear(&word);
    assert_text("OK", word.err);
    struct pawl *pawl = open_as(rig, rig->url, rig->clock);
    int64_t first = lock_of(rig, pawl, "startup.wipe").fence;
    rig_advance(rig, TTL_MS - 1);
    assert_err(rig, PAWL_ERR_HELD, pawl_startup_try(pawl, "wipe", TTL_MS, &rig->diag));
    rig_advance(rig, 1);
    assert_ok(rig, pawl_startup_try(pawl, "wipe", TTL_MS, &rig->diag));
    int64_t second = lock_of(rig, pawl, "startup.wipe").fence;
    assert_true(second > first);
    ask_another(rig, "wipe", &word);
    hear(&word);
    assert_text("HELD", word.err);
    assert_within(rig_text(rig, "-%ld-", (long)getpid()), word.text);
    pawl_close(pawl); // does not give it back
    rig_advance(rig, TTL_MS);
    ask_another(rig, "wipe", &word);
    hear(&word);
    assert_text("OK", word.err);
    pawl = open_as(rig, rig->url, rig->clock);
    assert_true(lock_of(rig, pawl, "startup.wipe").fence > second);
    pawl_close(pawl);
}

static void who_has_it_may_give_it_back(struct rig *rig)
{
    struct word word = { 0 };
    struct pawl *pawl = open_as(rig, rig->url, rig->clock);
    struct pawl *other = open_as(rig, rig->url, rig->clock); // in one process, and yet another
    assert_err(rig, PAWL_ERR_STALE, pawl_startup_release(pawl, "wipe", &rig->diag));
    assert_ok(rig, pawl_startup_try(pawl, "wipe", TTL_MS, &rig->diag));
    assert_ok(rig, pawl_startup_try(pawl, "wipe", TTL_MS, &rig->diag));
    assert_err(rig, PAWL_ERR_HELD, pawl_startup_try(other, "wipe", TTL_MS, &rig->diag));
    assert_err(rig, PAWL_ERR_STALE, pawl_startup_release(other, "wipe", &rig->diag));
    assert_ok(rig, pawl_startup_release(pawl, "wipe", &rig->diag));
    ask_another(rig, "wipe", &word);
    hear(&word);
    assert_text("OK", word.err);
    pawl_close(other);
    pawl_close(pawl);
}

static void actions_keep_their_rules(struct rig *rig)
{
    struct pawl *pawl = open_as(rig, rig->url, rig->clock);
    char longest[122] = { 0 };
    memset(longest, 'a', 120);
    assert_ok(rig, pawl_startup_try(pawl, longest, TTL_MS, &rig->diag));
    assert_ok(rig, pawl_startup_release(pawl, longest, &rig->diag));
    longest[120] = 'a';
    assert_err(rig, PAWL_ERR_LIMIT, pawl_startup_try(pawl, longest, TTL_MS, &rig->diag));
    assert_err(rig, PAWL_ERR_ARG, pawl_startup_try(pawl, "", TTL_MS, &rig->diag));
    assert_text("action", rig->diag.field);
    assert_err(rig, PAWL_ERR_ARG, pawl_startup_try(pawl, "wipe", 0, &rig->diag));
    assert_text("ttl_ms", rig->diag.field);
    assert_err(rig, PAWL_ERR_ARG, pawl_startup_release(pawl, "", &rig->diag));
    pawl_close(pawl);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 5 && strcmp(argv[1], "--try") == 0) return be_another(argv[2], argv[3], argv[4]);
    static const struct contract_test tests[] = {
        CONTRACT_SHARED(one_process_gets_it_and_the_others_hear_who),
        CONTRACT_SHARED(it_lapses_and_its_number_grows),
        CONTRACT_SHARED(who_has_it_may_give_it_back),
        CONTRACT_SHARED(actions_keep_their_rules),
    };
    return contract_run("startup", tests, COUNT(tests));
}
