/* A node's name and description. The store finds the lease in the description by its name,
 * "lease_ms", and renames it when it gives the node up: see store/core/cluster.c. */
#include "cluster/cluster.h"
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SUFFIX_BYTES = 32, DEPTH_MAX = 8 };

void pawl__member_name(char *out, size_t bytes, const char *host, long pid, int attempt,
                       unsigned dice)
{
    char suffix[SUFFIX_BYTES] = "";
    if (attempt == 1) snprintf(suffix, sizeof suffix, "-%ld", pid);
    if (attempt > 1) snprintf(suffix, sizeof suffix, "-%ld-%04x", pid, dice & 0xffff);
    int room = (int)(bytes - strlen(suffix) - 1);
    snprintf(out, bytes, "%.*s%s", room, host, suffix);
}

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    pawl__buf_printf(out, "\"%s\":", name);
    pawl__buf_add_json(out, text, strlen(text));
    pawl__buf_add_text(out, ",");
}

void pawl__member_print(struct pawl__buf *out, const struct pawl__member *member)
{
    pawl__buf_add_text(out, "{");
    add_text(out, "host", member->host);
    add_text(out, "version", member->version);
    pawl__buf_printf(out,
                     "\"pid\":%" PRId64 ",\"workers\":%" PRId32
                     ",\"draining\":%s,\"%slease_ms\":%" PRId64 "}",
                     member->pid, member->workers, member->draining ? "true" : "false",
                     member->given_up ? "lapsed_" : "", member->lease_ms);
}

static const char *text_of(const struct pawl__json *json, const char *name,
                           struct pawl__arena *arena)
{
    uint32_t token = pawl__json_member(json, 0, name);
    if (!token || json->tokens[token].type != PAWL__JSON_STRING) return "";
    const char *text = pawl__json_string(json, token, arena, NULL);
    return text ? text : "";
}

static int64_t number_of(const struct pawl__json *json, const char *name)
{
    int64_t value = 0;
    uint32_t token = pawl__json_member(json, 0, name);
    return token && pawl__json_int(json, token, &value) && value > 0 ? value : 0;
}

void pawl__member_read(const char *info, struct pawl__arena *arena, struct pawl__member *out)
{
    struct pawl__json json;
    *out = (struct pawl__member){ .host = "", .version = "" };
    const struct pawl_span text = { info, strlen(info) };
    if (pawl__json_parse(text, DEPTH_MAX, arena, &json, NULL) != PAWL_OK) return;
    if (json.tokens[0].type != PAWL__JSON_OBJECT) return;
    int64_t workers = number_of(&json, "workers");
    uint32_t draining = pawl__json_member(&json, 0, "draining");
    int64_t lapsed_ms = number_of(&json, "lapsed_lease_ms");
    *out = (struct pawl__member){
        .host = text_of(&json, "host", arena),
        .version = text_of(&json, "version", arena),
        .pid = number_of(&json, "pid"),
        .lease_ms = lapsed_ms ? lapsed_ms : number_of(&json, "lease_ms"),
        .workers = workers < INT32_MAX ? (int32_t)workers : INT32_MAX,
        .draining = draining && json.tokens[draining].type == PAWL__JSON_TRUE,
        .given_up = lapsed_ms > 0,
    };
}
