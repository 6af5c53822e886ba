/* A document for tests. Its text is a copy of exactly its length, so that a sanitizer reports an
 * access beyond the end. */
#ifndef PAWL_BASE_JSON_TEST_KIT_H
#define PAWL_BASE_JSON_TEST_KIT_H

#include "base/json.h"

#include "base/test_kit.h"

struct doc {
    struct pawl__arena arena;
    struct pawl__json json;
    struct pawl_diag diag;
    enum pawl_err err;
    char *text;
};

static inline void doc_parse(struct doc *doc, const char *text, size_t len, uint32_t depth_max)
{
    *doc = (struct doc){ 0 };
    doc->text = malloc(len > 0 ? len : 1);
    assert_non_null(doc->text);
    memcpy(doc->text, text, len);
    doc->err = pawl__json_parse((struct pawl_span){ doc->text, len }, depth_max, &doc->arena,
                                &doc->json, &doc->diag);
}

static inline void doc_release(struct doc *doc)
{
    pawl__arena_release(&doc->arena);
    free(doc->text);
    *doc = (struct doc){ 0 };
}

#endif
