/* Tokens of servers. A remote store has none. */
#include "support/ops.h"

static char hash[32] = "\0with a NUL and \xff bytes";

static enum pawl_err put(struct rig *rig, struct pawl_token token)
{
    struct pawl__op op = { .kind = PAWL__OP_TOKEN_PUT, .diag = &rig->diag, .token = &token };
    enum pawl_err err = pawl__store_do(rig->store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

static struct pawl_tokens tokens_of(struct rig *rig)
{
    struct pawl_tokens tokens = { 0 };
    assert_ok(rig, pawl__store_tokens(rig->store, &rig->arena, &tokens, &rig->diag));
    return tokens;
}

static void tokens_are_kept_as_they_came_and_listed_by_id(struct rig *rig)
{
    assert_int_equal(0, tokens_of(rig).count);
    assert_ok(rig, put(rig, (struct pawl_token){ .id = "b", .hash = { hash, 32 } }));
    assert_ok(rig, put(rig, (struct pawl_token){ .id = "a",
                                                 .name = "it's \xc3\xa9",
                                                 .scopes = "read work",
                                                 .hash = { hash, 32 },
                                                 .created_at_ms = 5,
                                                 .expires_at_ms = 6 }));
    rig_reopen(rig);
    struct pawl_tokens tokens = tokens_of(rig);
    assert_int_equal(2, tokens.count);
    assert_text("a", tokens.at[0].id);
    assert_text("it's \xc3\xa9", tokens.at[0].name);
    assert_text("read work", tokens.at[0].scopes);
    assert_int_equal(32, tokens.at[0].hash.len);
    assert_memory_equal(hash, tokens.at[0].hash.at, 32);
    assert_i64(5, tokens.at[0].created_at_ms);
    assert_i64(6, tokens.at[0].expires_at_ms);
    assert_i64(0, tokens.at[0].revoked_at_ms);
    assert_i64(0, tokens.at[0].used_at_ms);
    assert_text("b", tokens.at[1].id);
    assert_text("", tokens.at[1].name);
    assert_text("", tokens.at[1].scopes);
    assert_i64(0, tokens.at[1].expires_at_ms);
}

static void first_revocation_and_last_use_stay(struct rig *rig)
{
    assert_err(rig, PAWL_ERR_NOT_FOUND, put(rig, (struct pawl_token){ .id = "t" }));
    assert_ok(rig, put(rig, (struct pawl_token){ .id = "t", .hash = { hash, 32 } }));
    assert_ok(rig, put(rig, (struct pawl_token){ .id = "t", .used_at_ms = 9 }));
    assert_ok(rig, put(rig, (struct pawl_token){ .id = "t", .revoked_at_ms = 30 }));
    assert_ok(rig, put(rig, (struct pawl_token){ .id = "t", .revoked_at_ms = 31 }));
    assert_ok(rig, put(rig, (struct pawl_token){ .id = "t", .used_at_ms = 8 }));
    struct pawl_tokens tokens = tokens_of(rig);
    assert_int_equal(1, tokens.count);
    assert_i64(30, tokens.at[0].revoked_at_ms);
    assert_i64(9, tokens.at[0].used_at_ms);
}

int main(void)
{
    static const struct contract_test tests[] = {
        CONTRACT_SHARED(tokens_are_kept_as_they_came_and_listed_by_id),
        CONTRACT(first_revocation_and_last_use_stay),
    };
    return contract_run("tokens", tests, COUNT(tests));
}
