/* Looking for damage, over statements that every SQL backend has: a row is a finding, in words. */
#include "store/sql/read.h"

#include "base/diag.h"

enum { FLOW_FINDINGS_MAX = 1000 };

void pawl__findings_add(struct pawl__findings *findings, const char *text)
{
    findings->count++;
    if (findings->report) findings->report(findings->ctx, text);
}

static enum pawl_err report_rows(struct pawl__reader *reader, int slot,
                                 struct pawl__findings *findings)
{
    static const struct pawl__field text = { "text", PAWL__KIND_TEXT, 0 };
    const char *finding;
    bool found;
    enum pawl_err err;
    while (!(err = reader->reads->next(reader, slot, &found)) && found) {
        err = reader->reads->row(reader, slot, 0, &text, 1, &finding);
        if (err) return pawl__fail_nomem(reader->diag);
        pawl__findings_add(findings, finding);
    }
    return err;
}

#define X(member, column, kind) PAWL__FIELD(struct pawl__flow_doubt, member, column, kind),
static const struct pawl__field doubt_fields[] = { PAWL__FLOW_DOUBT_FIELDS(X) };
#undef X

enum pawl_err pawl__read_doubts(struct pawl__reader *reader, int slot, pawl__flow_doubt_fn *found,
                                void *ctx)
{
    const size_t count = sizeof doubt_fields / sizeof *doubt_fields;
    enum pawl_err err;
    bool is_row;
    while (!(err = reader->reads->next(reader, slot, &is_row)) && is_row) {
        struct pawl__flow_doubt doubt;
        err = reader->reads->row(reader, slot, 0, doubt_fields, count, &doubt);
        if (err) return pawl__fail_nomem(reader->diag);
        found(ctx, &doubt);
    }
    return err;
}

static void report_doubt(void *ctx, const struct pawl__flow_doubt *doubt)
{
    char text[PAWL__FLOW_DOUBT_BYTES];
    pawl__flow_doubt_text(doubt, text);
    pawl__findings_add(ctx, text);
}

/* Up to the first statement that finds something: what is wrong there may mislead the others. */
static enum pawl_err check(struct pawl__reader *reader, void *out)
{
    static const enum pawl__read checks[] = { PAWL__READ_CHECK_PLACES, PAWL__READ_CHECK_ORPHANS,
                                              PAWL__READ_CHECK_FACTS, PAWL__READ_CHECK_COUNTS };
    static const struct pawl__value limit = { PAWL__VALUE_NUMBER, .number = FLOW_FINDINGS_MAX };
    const int count = sizeof checks / sizeof *checks;
    struct pawl__findings *findings = out;
    enum pawl_err err = reader->reads->check(reader, findings);
    if (err || findings->count) return err;
    for (int i = 0; !err && i < count; i++) {
        err = reader->reads->ask(reader, i, checks[i], NULL);
    }
    if (!err) err = reader->reads->ask(reader, count, PAWL__READ_CHECK_FLOWS, &limit);
    if (!err) err = reader->reads->run(reader);
    for (int i = 0; !err && !findings->count && i < count; i++) {
        err = report_rows(reader, i, findings);
    }
    if (err || findings->count) return err;
    return pawl__read_doubts(reader, count, report_doubt, findings);
}

enum pawl_err pawl__read_check(struct pawl__backend *backend, pawl_finding_fn *report, void *ctx,
                               struct pawl_diag *diag)
{
    struct pawl__arena arena = { NULL };
    struct pawl__findings findings = { .report = report, .ctx = ctx };
    struct pawl__reader reader = { .backend = backend, .arena = &arena, .diag = diag };
    enum pawl_err err = pawl__read_with(reader, check, &findings);
    pawl__arena_release(&arena);
    if (err || !findings.count) return err;
    return pawl__fail(diag, PAWL_ERR_CORRUPT, "the check found %lld fault%s",
                      (long long)findings.count, findings.count == 1 ? "" : "s");
}
