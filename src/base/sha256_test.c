#include "base/sha256.h"

#include "base/test_kit.h"

static void digest_text(const uint8_t digest[32], char out[65])
{
    for (int i = 0; i < 32; i++) {
        snprintf(out + (size_t)2 * i, 3, "%02x", digest[i]);
    }
}

static void assert_digest(struct pawl__sha256 *sha, const char *expected)
{
    uint8_t digest[32];
    char text[65];
    pawl__sha256_end(sha, digest);
    digest_text(digest, text);
    assert_string_equal(text, expected);
}

static void agrees_with_the_published_vectors(void **state)
{
    static const struct {
        const char *text;
        const char *digest;
    } cases[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
          "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__sha256 sha;
        pawl__sha256_init(&sha);
        pawl__sha256_add(&sha, cases[i].text, strlen(cases[i].text));
        assert_digest(&sha, cases[i].digest);
    }
}

static void agrees_on_a_million_letters(void **state)
{
    struct pawl__sha256 sha;
    char thousand[1000];
    memset(thousand, 'a', sizeof thousand);
    pawl__sha256_init(&sha);
    for (int i = 0; i < 1000; i++) {
        pawl__sha256_add(&sha, thousand, sizeof thousand);
    }
    assert_digest(&sha, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The expected digest was computed by Python's hashlib. It is a digest over the digests of 300
 * messages, which cover all lengths of the last block. */
static void agrees_on_every_length(void **state)
{
    struct pawl__sha256 all;
    pawl__sha256_init(&all);
    for (int len = 0; len < 300; len++) {
        uint8_t message[300], digest[32];
        for (int i = 0; i < len; i++) {
            message[i] = (uint8_t)(i * 7 + len);
        }
        struct pawl__sha256 sha;
        pawl__sha256_init(&sha);
        pawl__sha256_add(&sha, message, (size_t)len);
        pawl__sha256_end(&sha, digest);
        pawl__sha256_add(&all, digest, sizeof digest);
    }
    assert_digest(&all, "d5238871a46ac4a1a75ac3fb19d645b0b3b9e5f35f5f720e2b240d605c6b694e");
}

static void pieces_do_not_matter(void **state)
{
    for_seeds(seed, 200)
    {
        struct pawl__rng rng;
        pawl__rng_seed(&rng, seed);
        uint8_t message[1000], whole[32], pieces[32];
        for (size_t i = 0; i < sizeof message; i++) {
            message[i] = (uint8_t)pawl__rng_next(&rng);
        }
        struct pawl__sha256 sha;
        pawl__sha256_init(&sha);
        pawl__sha256_add(&sha, message, sizeof message);
        pawl__sha256_end(&sha, whole);
        pawl__sha256_init(&sha);
        for (size_t at = 0; at < sizeof message;) {
            size_t len = pawl__rng_below(&rng, 200);
            if (len > sizeof message - at) len = sizeof message - at;
            pawl__sha256_add(&sha, message + at, len);
            at += len;
        }
        pawl__sha256_end(&sha, pieces);
        prove(memcmp(whole, pieces, sizeof whole) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_published_vectors),
        cmocka_unit_test(agrees_on_a_million_letters),
        cmocka_unit_test(agrees_on_every_length),
        cmocka_unit_test(pieces_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
