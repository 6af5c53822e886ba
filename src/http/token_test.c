/* Tokens as the store keeps them. */
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int open_store(void **state)
{
    struct pawl *pawl = NULL;
    struct pawl_config config = { .store = "sqlite::memory:" };
    if (pawl_open(&config, &pawl, NULL)) return -1;
    *state = pawl;
    return 0;
}

static int close_store(void **state)
{
    pawl_close(*state);
    return 0;
}

static struct pawl__token make(struct pawl *pawl, const char *name, uint32_t scopes)
{
    char secret[PAWL__TOKEN_BYTES];
    struct pawl__token token = { .scopes = scopes, .created_at_ms = 1000 };
    snprintf(token.name, sizeof token.name, "%s", name);
    assert_int_equal(pawl__token_add(pawl, &token, secret, NULL), PAWL_OK);
    uint8_t hash[32];
    pawl__token_hash(secret, strlen(secret), hash);
    assert_memory_equal(hash, token.hash, sizeof hash);
    return token;
}

/* The one that is there. */
static struct pawl__token only(struct pawl *pawl)
{
    struct pawl__tokens tokens = { 0 };
    assert_int_equal(pawl__tokens_get(pawl, &tokens, NULL), PAWL_OK);
    assert_int_equal(tokens.count, 1);
    struct pawl__token token = tokens.at[0];
    pawl__tokens_release(&tokens);
    return token;
}

static void comes_back_as_it_was_made(void **state)
{
    char secret[PAWL__TOKEN_BYTES];
    struct pawl__token token = { .name = "a \"b\" \\ \xc3\xa9",
                                 .scopes = 1u << PAWL__SCOPE_READ | 1u << PAWL__SCOPE_WORK,
                                 .created_at_ms = 1000,
                                 .expires_at_ms = 5000 };
    assert_int_equal(pawl__token_add(*state, &token, secret, NULL), PAWL_OK);
    struct pawl__token read = only(*state);
    assert_string_equal(read.id, token.id);
    assert_string_equal(read.name, token.name);
    assert_memory_equal(read.hash, token.hash, sizeof read.hash);
    assert_int_equal(read.scopes, token.scopes);
    assert_int_equal(read.created_at_ms, 1000);
    assert_int_equal(read.expires_at_ms, 5000);
    assert_int_equal(read.revoked_at_ms, 0);
    assert_int_equal(read.used_at_ms, 0);
    assert_true(pawl__token_is_valid(&read, 4999));
    assert_false(pawl__token_is_valid(&read, 5000));
}

static void revoking_is_for_ever(void **state)
{
    struct pawl__token token = make(*state, "a", 1u << PAWL__SCOPE_ADMIN);
    assert_int_equal(pawl__token_revoke(*state, token.id, 2000, NULL), PAWL_OK);
    assert_int_equal(pawl__token_revoke(*state, token.id, 3000, NULL), PAWL_OK);
    assert_int_equal(only(*state).revoked_at_ms, 2000);
    assert_int_equal(pawl__token_used(*state, token.id, 4000, NULL), PAWL_OK);
    struct pawl__token read = only(*state);
    assert_int_equal(read.revoked_at_ms, 2000);
    assert_int_equal(read.used_at_ms, 4000);
    assert_false(pawl__token_is_valid(&read, 0));
    assert_int_equal(pawl__token_revoke(*state, "nope", 1, NULL), PAWL_ERR_NOT_FOUND);
}

static void a_record_without_a_hash_is_not_kept(void **state)
{
    static const char hash[33];
    for (size_t len = 0; len <= sizeof hash; len++) {
        struct pawl_token token = { .id = "x", .scopes = "admin", .hash = { hash, len } };
        enum pawl_err expected = len == 0 ? PAWL_ERR_NOT_FOUND : len == 32 ? PAWL_OK : PAWL_ERR_ARG;
        assert_int_equal(pawl_token_put(*state, &token, NULL), expected);
    }
    assert_int_equal(only(*state).scopes, 1u << PAWL__SCOPE_ADMIN);
}

static void scopes_of_the_future_allow_nothing(void **state)
{
    static const char hash[32];
    struct pawl_token token = { .id = "x", .scopes = "read fly", .hash = { hash, sizeof hash } };
    assert_int_equal(pawl_token_put(*state, &token, NULL), PAWL_OK);
    assert_int_equal(only(*state).scopes & ~1u, 1u << PAWL__SCOPE_READ);
}

static void a_token_needs_a_scope(void **state)
{
    char secret[PAWL__TOKEN_BYTES];
    struct pawl__token token = { .scopes = 1u << PAWL__SCOPE_NONE };
    struct pawl_diag diag;
    assert_int_equal(pawl__token_add(*state, &token, secret, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.field, "scope");
}

static void scopes_have_names(void **state)
{
    (void)state;
    for (enum pawl__scope i = PAWL__SCOPE_NONE + 1; i < PAWL__SCOPE_END; i++) {
        const char *text = pawl__scope_text(i);
        assert_int_equal(pawl__scope_find(text, strlen(text)), i);
    }
    assert_int_equal(pawl__scope_find("admi", 4), PAWL__SCOPE_NONE);
    assert_int_equal(pawl__scope_find("", 0), PAWL__SCOPE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(comes_back_as_it_was_made, open_store, close_store),
        cmocka_unit_test_setup_teardown(revoking_is_for_ever, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_record_without_a_hash_is_not_kept, open_store,
                                        close_store),
        cmocka_unit_test_setup_teardown(scopes_of_the_future_allow_nothing, open_store,
                                        close_store),
        cmocka_unit_test_setup_teardown(a_token_needs_a_scope, open_store, close_store),
        cmocka_unit_test(scopes_have_names),
    };
    return cmocka_run_group_tests_name("token", tests, NULL, NULL);
}
