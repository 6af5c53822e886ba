/* Structs by tables, from any bytes, as the server reads requests of remote stores:
 *
 * 1. what reads prints, and what is printed reads back and prints the same;
 * 2. an error of the reader has a text, and names no more than it has room for;
 * 3. lists take no more memory than they may. */
#include "fuzz.h"
#include "wire/wire.h"

#include <string.h>

static enum pawl_err read_ops(const char *at, size_t len, struct pawl__arena *arena,
                              struct pawl__wire_ops *out, struct pawl_diag *diag)
{
    return pawl__wire_read((struct pawl_span){ at, len }, &pawl__wire_ops_shape, true, arena, out,
                           diag);
}

static void check_print(const struct pawl__wire_ops *ops)
{
    struct pawl__arena arena = { 0 };
    struct pawl__buf first = { 0 }, second = { 0 };
    struct pawl__wire_ops back;
    pawl__wire_print(&first, &pawl__wire_ops_shape, ops);
    must(!first.failed && !read_ops(first.at, first.len, &arena, &back, NULL));
    pawl__wire_print(&second, &pawl__wire_ops_shape, &back);
    must(first.len == second.len && memcmp(first.at, second.at, first.len) == 0);
    pawl__buf_release(&first);
    pawl__buf_release(&second);
    pawl__arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pawl__arena arena = { 0 };
    struct pawl_diag diag = { 0 };
    struct pawl__wire_ops ops;
    char *text = malloc(size + 1); // its exact size, so that a byte too many is noticed
    must(text);
    if (size > 0) memcpy(text, data, size);
    enum pawl_err err = read_ops(text, size, &arena, &ops, &diag);
    if (err) must(diag.text[0] && strlen(diag.field) < sizeof diag.field);
    if (!err) check_print(&ops);
    pawl__arena_release(&arena);
    free(text);
    return 0;
}
