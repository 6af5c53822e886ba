#include "cli/cron_file.h"

#include "base/buf.h"
#include "base/diag.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MIN = 5, FIELDS_MAX = 7 };

struct word {
    const char *text;
    bool plain; /* neither quoted nor JSON */
};

struct reader {
    struct pawl_span text;
    size_t at, line;
    struct pawl__arena *arena;
    struct pawl_diag *diag;
    struct word words[PAWL__CRON_FILE_WORDS_MAX]; /* of the line that is read */
    size_t count;
    const char **defaults; /* options for the lines to come */
    size_t unused_line;    /* the last line of them, as long as no schedule follows; 0: one does */
    size_t default_count;
    struct pawl__buf buf;
};

/* ---- words ---- */

static char peek(const struct reader *reader)
{
    return reader->at < reader->text.len ? reader->text.at[reader->at] : '\n';
}

static bool is_at_end(const struct reader *reader)
{
    return reader->at >= reader->text.len;
}

static char next(struct reader *reader)
{
    char c = reader->text.at[reader->at++];
    reader->line += c == '\n';
    pawl__buf_add(&reader->buf, &c, 1);
    return c;
}

static enum pawl_err fail(struct reader *reader, const char *text)
{
    return pawl__fail(reader->diag, PAWL_ERR_ARG, "%s", text);
}

/* JSON up to the bracket that ends it; that it is JSON is checked by its reader. */
static enum pawl_err read_json(struct reader *reader)
{
    size_t depth = 0;
    bool quoted = false;
    while (!is_at_end(reader)) {
        char c = next(reader);
        if (quoted) {
            if (c == '\\' && !is_at_end(reader)) next(reader);
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return PAWL_OK;
        }
    }
    return fail(reader, "JSON that does not end");
}

/* In single quotes everything stands for itself, in double ones a backslash does not. */
static enum pawl_err read_quoted(struct reader *reader)
{
    char quote = reader->text.at[reader->at++];
    while (!is_at_end(reader) && peek(reader) != '\n') {
        char c = peek(reader);
        if (c == quote) {
            reader->at++;
            return PAWL_OK;
        }
        if (c == '\\' && quote == '"' && reader->at + 1 < reader->text.len) reader->at++;
        next(reader);
    }
    return fail(reader, "a quote that does not end");
}

/* JSON and quotes count where a word begins, and behind the "=" of an option. */
static enum pawl_err read_word(struct reader *reader)
{
    bool is_begin = true, plain = true;
    pawl__buf_clear(&reader->buf);
    while (!is_at_end(reader) && !isspace((unsigned char)peek(reader))) {
        char c = peek(reader);
        enum pawl_err err = PAWL_OK;
        if (is_begin && (c == '[' || c == '{')) {
            err = read_json(reader);
            plain = false;
        } else if (is_begin && (c == '\'' || c == '"')) {
            err = read_quoted(reader);
            plain = false;
        } else {
            next(reader);
        }
        if (err) return err;
        is_begin = c == '=' && reader->buf.len > 2 && strncmp(reader->buf.at, "--", 2) == 0;
    }
    if (reader->count == PAWL__CRON_FILE_WORDS_MAX) {
        return pawl__fail(reader->diag, PAWL_ERR_LIMIT, "a line has at most %d words",
                          PAWL__CRON_FILE_WORDS_MAX);
    }
    const char *text =
        reader->buf.failed
            ? NULL
            : pawl__arena_dup(reader->arena, reader->buf.at ? reader->buf.at : "", reader->buf.len);
    if (!text) return pawl__fail_nomem(reader->diag);
    if (strlen(text) != reader->buf.len) return fail(reader, "a NUL byte");
    reader->words[reader->count++] = (struct word){ text, plain };
    return PAWL_OK;
}

/* The words of the next line. */
static enum pawl_err read_line(struct reader *reader)
{
    reader->count = 0;
    while (!is_at_end(reader) && peek(reader) != '\n') {
        enum pawl_err err = PAWL_OK;
        if (peek(reader) == '#') {
            while (!is_at_end(reader) && peek(reader) != '\n') {
                reader->at++;
            }
        } else if (isspace((unsigned char)peek(reader))) {
            reader->at++;
        } else {
            err = read_word(reader);
        }
        if (err) return err;
    }
    return PAWL_OK;
}

/* ---- the expression ---- */

static bool is_name(const char *text)
{
    static const char names[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDECSUNMONTUEWEDTHUFRISAT";
    for (size_t i = 0; names[i]; i += 3) {
        if (strncasecmp(text, names + i, 3) == 0) return !text[3] || strchr(",-/#L", text[3]);
    }
    return false;
}

/* Could it be the sixth or seventh field of an expression? Types begin with a letter. */
static bool is_field(const struct word *word)
{
    char first = word->text[0];
    if (!word->plain) return false;
    if (isdigit((unsigned char)first) || first == '*' || first == '?') return true;
    return is_name(word->text) || (first == 'L' && (!word->text[1] || word->text[1] == '-'));
}

/* A word that the reader of expressions would refuse with an odd message: the type, most likely. */
static const char *not_a_field(const struct reader *reader)
{
    for (size_t i = 1; i < reader->count && i <= FIELDS_MIN; i++) {
        const char *text = reader->words[i].text;
        if (!reader->words[i].plain || strpbrk(text, "._{}[]")) return text;
    }
    return NULL;
}

/* How many words from the second on are the expression; 0: there are too few. */
static size_t expression_words(const struct reader *reader)
{
    const struct word *words = reader->words + 1;
    size_t left = reader->count - 1, count = FIELDS_MIN;
    if (!left) return 0;
    if (!words[0].plain) return 1;
    if (words[0].text[0] == '@') {
        return strcasecmp(words[0].text, "@every") == 0 && left > 1 ? 2 : 1;
    }
    if (left < FIELDS_MIN) return 0;
    while (count < FIELDS_MAX && count < left && is_field(&words[count])) {
        count++;
    }
    return count;
}

static enum pawl_err join(struct reader *reader, size_t first, size_t count, const char **out)
{
    pawl__buf_clear(&reader->buf);
    for (size_t i = first; i < first + count; i++) {
        if (i > first) pawl__buf_add(&reader->buf, " ", 1);
        pawl__buf_add_text(&reader->buf, reader->words[i].text);
    }
    *out = reader->buf.failed ? NULL
                              : pawl__arena_dup(reader->arena, reader->buf.at, reader->buf.len);
    return *out ? PAWL_OK : pawl__fail_nomem(reader->diag);
}

/* ---- entries ---- */

static bool is_zone(const struct word *word)
{
    return word->plain && word->text[0] != '-' &&
           (strchr(word->text, '/') || strcmp(word->text, "UTC") == 0);
}

static const char **words_new(struct reader *reader, size_t more)
{
    const char **words =
        pawl__arena_calloc(reader->arena, reader->default_count + more + 1, sizeof(const char *));
    for (size_t i = 0; words && i < reader->default_count; i++) {
        words[i] = reader->defaults[i];
    }
    return words;
}

/* A line of options alone. */
static enum pawl_err add_defaults(struct reader *reader)
{
    const char **words = words_new(reader, reader->count);
    if (!words) return pawl__fail_nomem(reader->diag);
    for (size_t i = 0; i < reader->count; i++) {
        words[reader->default_count++] = reader->words[i].text;
    }
    reader->defaults = words;
    if (reader->default_count <= PAWL__CRON_FILE_WORDS_MAX) return PAWL_OK;
    return pawl__fail(reader->diag, PAWL_ERR_LIMIT, "the defaults have at most %d words",
                      PAWL__CRON_FILE_WORDS_MAX);
}

static enum pawl_err add_entry(struct reader *reader, size_t line, struct pawl__cron_entry *out)
{
    size_t fields = expression_words(reader), at = 1 + fields;
    const char **words = words_new(reader, reader->count + 3);
    const char *expression;
    if (!words) return pawl__fail_nomem(reader->diag);
    if (!fields) return fail(reader, "a name, an expression and a type are needed");
    if (fields >= FIELDS_MIN && not_a_field(reader)) {
        return pawl__fail(reader->diag, PAWL_ERR_ARG,
                          "\"%.64s\" is no field of an expression, which has 5, 6 or 7",
                          not_a_field(reader));
    }
    enum pawl_err err = join(reader, 1, fields, &expression);
    if (err) return err;
    *out = (struct pawl__cron_entry){ .line = line, .name = reader->words[0].text, .words = words };
    out->count = reader->default_count;
    bool zone = at < reader->count && is_zone(&reader->words[at]);
    if (zone) words[out->count++] = "--zone";
    if (zone) words[out->count++] = reader->words[at++].text;
    if (at >= reader->count) return fail(reader, "the type of its jobs is missing");
    words[out->count++] = out->name;
    words[out->count++] = expression;
    for (; at < reader->count; at++) {
        words[out->count++] = reader->words[at].text;
    }
    return PAWL_OK;
}

static const struct pawl__cron_entry *find(const struct pawl__cron_entries *entries,
                                           const char *name)
{
    for (size_t i = 0; i < entries->count; i++) {
        if (strcmp(entries->at[i].name, name) == 0) return &entries->at[i];
    }
    return NULL;
}

/* The line that has been read. */
static enum pawl_err take_line(struct reader *reader, size_t line, struct pawl__cron_entries *out)
{
    if (!reader->count) return PAWL_OK;
    if (strncmp(reader->words[0].text, "--", 2) == 0) {
        reader->unused_line = line;
        return add_defaults(reader);
    }
    reader->unused_line = 0;
    const struct pawl__cron_entry *earlier = find(out, reader->words[0].text);
    if (earlier) {
        return pawl__fail(reader->diag, PAWL_ERR_ARG, "\"%s\" is on line %zu already",
                          earlier->name, earlier->line);
    }
    if (out->count == PAWL__CRON_FILE_ENTRIES_MAX) {
        return pawl__fail(reader->diag, PAWL_ERR_LIMIT, "a file has at most %d schedules",
                          PAWL__CRON_FILE_ENTRIES_MAX);
    }
    enum pawl_err err = add_entry(reader, line, &out->at[out->count]);
    if (!err) out->count++;
    return err;
}

/* At most so many lines. */
static size_t count_lines(struct pawl_span text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++) {
        count += text.at[i] == '\n';
    }
    return count < PAWL__CRON_FILE_ENTRIES_MAX ? count : PAWL__CRON_FILE_ENTRIES_MAX;
}

enum pawl_err pawl__cron_file_read(struct pawl_span text, struct pawl__arena *arena,
                                   struct pawl__cron_entries *out, size_t *line,
                                   struct pawl_diag *diag)
{
    struct reader *reader = pawl__arena_calloc(arena, 1, sizeof *reader);
    *out = (struct pawl__cron_entries){ 0 };
    *line = 1;
    out->at = pawl__arena_calloc(arena, count_lines(text), sizeof *out->at);
    if (!reader || !out->at) return pawl__fail_nomem(diag);
    *reader = (struct reader){ .text = text, .line = 1, .arena = arena, .diag = diag };
    enum pawl_err err = PAWL_OK;
    while (!err && !is_at_end(reader)) {
        *line = reader->line;
        err = read_line(reader);
        if (!err) err = take_line(reader, *line, out);
        if (!err && !is_at_end(reader)) {
            reader->at++;
            reader->line++;
        }
    }
    pawl__buf_release(&reader->buf);
    if (err || !reader->unused_line) return err;
    *line = reader->unused_line; // nothing would say whether they are options at all
    return pawl__fail(diag, PAWL_ERR_ARG, "no schedule follows these options");
}
