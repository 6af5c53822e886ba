/* The text is formatted in a separate buffer and then copied, because a message may quote the
 * diagnosis that it replaces ("could not open the store: %s", diag->text). */
#define PAWL__DIAG_ITSELF // see diag.h
#include "base/diag.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Marks `text` as truncated, without splitting a character. */
static void mark_cut(char *text, size_t bytes)
{
    size_t len = pawl__utf8_cut(text, bytes - 1, bytes - sizeof "...");
    memcpy(text + len, "...", sizeof "...");
}

static void fill(struct pawl_diag *diag, enum pawl_err err, const char *field, const char *format,
                 va_list args)
{
    struct pawl_diag fresh = { .err = err };
    int len = vsnprintf(fresh.text, sizeof fresh.text, format, args);
    if (len < 0) snprintf(fresh.text, sizeof fresh.text, "%s", pawl_err_text(err));
    if (len >= (int)sizeof fresh.text) mark_cut(fresh.text, sizeof fresh.text);
    snprintf(fresh.field, sizeof fresh.field, "%s", field);
    *diag = fresh;
}

enum pawl_err pawl__fail(struct pawl_diag *diag, enum pawl_err err, const char *format, ...)
{
    assert(err != PAWL_OK);
    if (!diag) return err;
    va_list args;
    va_start(args, format);
    fill(diag, err, "", format, args);
    va_end(args);
    return err;
}

enum pawl_err pawl__fail_field(struct pawl_diag *diag, enum pawl_err err, const char *field,
                               const char *format, ...)
{
    assert(err != PAWL_OK);
    if (!diag) return err;
    va_list args;
    va_start(args, format);
    fill(diag, err, field, format, args);
    va_end(args);
    return err;
}

enum pawl_err pawl__fail_nomem(struct pawl_diag *diag)
{
    return pawl__fail(diag, PAWL_ERR_NOMEM, "%s", pawl_err_text(PAWL_ERR_NOMEM));
}
