/* TZif files (RFC 8536) as pieces of constant offset, from 1970 to 2200. Nothing is taken from the
 * file on trust: a damaged one is refused, and no read goes past its end. */
#include "schedule/inside.h"

#include "base/diag.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 44,
    CHANGES_MAX = 4096, /* of one file; the longest have about 250 */
    TYPES_MAX = 256,
    TYPE_BYTES = 6,
    OFFSET_S_MAX = 26 * S_PER_HOUR, /* RFC 8536, 3.2 */
    DISTANCE_S_MIN = S_PER_HOUR,    /* of two changes; the closest known are four days apart */
};

#define KEPT_FROM_S (-2 * (int64_t)S_PER_DAY) /* local 1970 begins no earlier */
#define KEPT_UNTIL_S (RANGE_END_S + 2 * S_PER_DAY)

/* ---- the file ---- */

struct bytes {
    const uint8_t *at;
    size_t len;
};

/* The counts of a header. */
struct header {
    int version;
    uint32_t utc_count, standard_count, leap_count, time_count, type_count, char_count;
};

static int64_t read_big_endian(const uint8_t *at, int bytes)
{
    uint64_t value = at[0] & 0x80 ? UINT64_MAX : 0; // sign
    for (int i = 0; i < bytes; i++) {
        value = value << 8 | at[i];
    }
    return (int64_t)value;
}

static bool skip(struct bytes *bytes, uint64_t count)
{
    if (count > bytes->len) return false;
    bytes->at += count;
    bytes->len -= count;
    return true;
}

static bool read_header(struct bytes *bytes, struct header *out)
{
    const uint8_t *at = bytes->at;
    if (bytes->len < HEADER_BYTES || memcmp(at, "TZif", 4) != 0) return false;
    uint32_t counts[6];
    for (int i = 0; i < 6; i++) {
        counts[i] = (uint32_t)read_big_endian(at + 20 + 4 * i, 4);
    }
    *out = (struct header){ .version = at[4],
                            .utc_count = counts[0],
                            .standard_count = counts[1],
                            .leap_count = counts[2],
                            .time_count = counts[3],
                            .type_count = counts[4],
                            .char_count = counts[5] };
    return skip(bytes, HEADER_BYTES);
}

/* The length of what follows a header. */
static uint64_t block_bytes(const struct header *header, uint64_t time_bytes)
{
    return header->time_count * (time_bytes + 1) + (uint64_t)header->type_count * TYPE_BYTES +
           header->char_count + header->leap_count * (time_bytes + 4) + header->standard_count +
           header->utc_count;
}

/* What a file says. */
struct contents {
    int32_t first_offset_s;
    struct pawl__zone_change changes[CHANGES_MAX + PAWL__ZONE_RULE_CHANGES_MAX];
    size_t count;
};

/* The block with 64-bit times. */
static const char *read_block(const struct header *header, const uint8_t *at, struct contents *out)
{
    const uint8_t *indexes = at + (size_t)header->time_count * 8;
    const uint8_t *types = indexes + header->time_count;
    for (size_t i = 0; i < header->type_count; i++) {
        int64_t offset = read_big_endian(types + i * TYPE_BYTES, 4);
        if (offset < -OFFSET_S_MAX || offset > OFFSET_S_MAX) return "an offset is out of range";
    }
    out->first_offset_s = (int32_t)read_big_endian(types, 4);
    for (size_t i = 0; i < header->time_count; i++) {
        struct pawl__zone_change *change = &out->changes[out->count++];
        if (indexes[i] >= header->type_count) return "a change has no type";
        change->at_s = read_big_endian(at + i * 8, 8);
        change->offset_s = (int32_t)read_big_endian(types + indexes[i] * TYPE_BYTES, 4);
        if (i > 0 && change->at_s <= change[-1].at_s) return "its changes are not in order";
        // A bound on the work of cut_stretch, and on the number of pieces.
        if (i > 0 && change->at_s - DISTANCE_S_MIN < change[-1].at_s) {
            return "its changes are too close to each other";
        }
    }
    return NULL;
}

/* What the footer adds after the last change. */
static const char *read_footer(struct bytes bytes, struct contents *out)
{
    struct pawl__zone_change changes[PAWL__ZONE_RULE_CHANGES_MAX];
    size_t count;
    if (bytes.len < 2 || bytes.at[0] != '\n' || bytes.at[bytes.len - 1] != '\n') {
        return "it has no footer";
    }
    if (bytes.len == 2) return NULL;
    if (!pawl__zone_rule((const char *)bytes.at + 1, bytes.len - 2, changes, &count)) {
        return "its footer is not a TZ string";
    }
    int64_t last = out->count ? out->changes[out->count - 1].at_s : INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        if (changes[i].at_s > last) out->changes[out->count++] = changes[i];
    }
    return NULL;
}

/* NULL, or what is wrong with the file. */
static const char *read_file(struct bytes bytes, struct contents *out)
{
    struct header header;
    out->count = 0;
    if (!read_header(&bytes, &header)) return "it is not a TZif file";
    if (header.version < '2') return "it has no 64-bit times";
    if (!skip(&bytes, block_bytes(&header, 4)) || !read_header(&bytes, &header)) {
        return "it is cut off";
    }
    if (header.leap_count > 0) return "it has leap seconds";
    if (header.time_count > CHANGES_MAX) return "it has too many changes";
    if (header.type_count == 0 || header.type_count > TYPES_MAX) return "it has no types";
    const uint8_t *block = bytes.at;
    if (!skip(&bytes, block_bytes(&header, 8))) return "it is cut off";
    const char *complaint = read_block(&header, block, out);
    return complaint ? complaint : read_footer(bytes, out);
}

/* ---- pieces ---- */

/* Removes what is before or after the years of interest, and changes that change nothing; of
 * several at one instant the last counts. */
static void tidy(struct contents *contents)
{
    size_t kept = 0;
    int32_t before = contents->first_offset_s;
    for (size_t i = 0; i < contents->count; i++) {
        struct pawl__zone_change change = contents->changes[i];
        if (change.at_s <= KEPT_FROM_S) {
            contents->first_offset_s = before = change.offset_s;
            continue;
        }
        if (change.at_s >= KEPT_UNTIL_S) break;
        if (kept > 0 && contents->changes[kept - 1].at_s == change.at_s) {
            kept--;
            before = kept > 0 ? contents->changes[kept - 1].offset_s : contents->first_offset_s;
        }
        if (change.offset_s == before) continue;
        contents->changes[kept++] = change;
        before = change.offset_s;
    }
    contents->count = kept;
}

/* The pieces of a zone while they are made; without `starts` they are only counted. */
struct maker {
    const struct contents *contents;
    int64_t *starts;
    int32_t *offsets;
    bool *again;
    size_t count;
};

static void add_piece(struct maker *maker, int64_t start, int32_t offset, bool again)
{
    size_t i = maker->count++;
    if (!maker->starts) return;
    maker->starts[i] = start;
    maker->offsets[i] = offset;
    maker->again[i] = again;
}

/* The offset before change `i`, and its first local time. */
static int32_t offset_before(const struct contents *contents, size_t i)
{
    return i == 0 ? contents->first_offset_s : contents->changes[i - 1].offset_s;
}

/* True if the local time `local` has been before change `i`. `*until` is where that may cease to
 * be so, or begin to be so: the next local time at which an earlier stretch starts or ends. */
static bool was_before(const struct contents *contents, size_t i, int64_t local, int64_t *until)
{
    bool was = false;
    *until = INT64_MAX;
    for (size_t j = i + 1; j-- > 0;) { // the stretch that ends with change j
        int64_t offset = offset_before(contents, j);
        int64_t end = contents->changes[j].at_s + offset;
        int64_t start = j == 0 ? INT64_MIN : contents->changes[j - 1].at_s + offset;
        if (contents->changes[j].at_s + OFFSET_S_MAX < local) break; // so do all before it
        was = was || (start <= local && local < end);
        if (start > local && start < *until) *until = start;
        if (end > local && end < *until) *until = end;
    }
    return was;
}

/* The stretch that begins with change `i`, as pieces. */
static void cut_stretch(struct maker *maker, size_t i)
{
    const struct contents *contents = maker->contents;
    const struct pawl__zone_change *change = &contents->changes[i];
    int64_t end = i + 1 < contents->count ? change[1].at_s : INT64_MAX;
    int64_t start = change->at_s, until;
    bool last = false;
    while (start < end) {
        bool again = was_before(contents, i, start + change->offset_s, &until);
        if (start == change->at_s || again != last) {
            add_piece(maker, start, change->offset_s, again);
        }
        last = again;
        if (until == INT64_MAX) break;
        start = until - change->offset_s;
    }
}

static void cut(struct maker *maker)
{
    add_piece(maker, INT64_MIN, maker->contents->first_offset_s, false);
    for (size_t i = 0; i < maker->contents->count; i++) {
        cut_stretch(maker, i);
    }
}

/* ---- zones ---- */

static struct pawl__zone *new_zone(const char *name, size_t pieces)
{
    size_t bytes = pieces * (sizeof(int64_t) + sizeof(int32_t) + sizeof(bool));
    struct pawl__zone *zone = malloc(sizeof *zone + bytes);
    if (!zone) return NULL;
    int64_t *starts = (int64_t *)(zone + 1);
    int32_t *offsets = (int32_t *)(starts + pieces);
    *zone = (struct pawl__zone){
        .refs = 1, .starts = starts, .offsets = offsets, .again = (bool *)(offsets + pieces)
    };
    assert(strlen(name) <= PAWL_ZONE_BYTES_MAX);
    memcpy(zone->name, name, strlen(name) + 1);
    return zone;
}

/* FNV-1a over starts and offsets. */
static uint64_t digest_of(const struct pawl__zone *zone)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < zone->count; i++) {
        uint64_t parts[] = { (uint64_t)zone->starts[i], (uint32_t)zone->offsets[i] };
        for (int bit = 0; bit < 128; bit += 8) {
            hash = (hash ^ (parts[bit / 64] >> bit % 64 & 0xFF)) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

static struct pawl__zone *zone_from(const char *name, struct contents *contents)
{
    tidy(contents);
    struct maker maker = { .contents = contents };
    cut(&maker);
    struct pawl__zone *zone = new_zone(name, maker.count);
    if (!zone) return NULL;
    maker = (struct maker){ .contents = contents,
                            .starts = (int64_t *)zone->starts,
                            .offsets = (int32_t *)zone->offsets,
                            .again = (bool *)zone->again };
    cut(&maker);
    zone->count = maker.count;
    zone->digest = digest_of(zone);
    return zone;
}

enum pawl_err pawl__zone_parse(const char *name, const void *bytes, size_t len,
                               const struct pawl__zone **out, struct pawl_diag *diag)
{
    struct contents *contents = malloc(sizeof *contents);
    if (!contents) return pawl__fail_nomem(diag);
    const char *complaint = read_file((struct bytes){ bytes, len }, contents);
    const struct pawl__zone *zone = complaint ? NULL : zone_from(name, contents);
    free(contents);
    if (complaint) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "zone",
                                "the file of zone \"%s\" cannot be used: %s", name, complaint);
    }
    if (!zone) return pawl__fail_nomem(diag);
    *out = zone;
    return PAWL_OK;
}

const struct pawl__zone *pawl__zone_utc(void)
{
    static const int64_t starts[] = { INT64_MIN };
    static const int32_t offsets[] = { 0 };
    static const bool again[] = { false };
    static const struct pawl__zone utc = {
        .refs = 0, .count = 1, .starts = starts, .offsets = offsets, .again = again, .name = "UTC"
    };
    return &utc;
}

const struct pawl__zone *pawl__zone_ref(const struct pawl__zone *zone)
{
    if (zone != pawl__zone_utc()) atomic_fetch_add(&((struct pawl__zone *)zone)->refs, 1);
    return zone;
}

void pawl__zone_unref(const struct pawl__zone *zone)
{
    if (!zone || zone == pawl__zone_utc()) return;
    struct pawl__zone *mine = (struct pawl__zone *)zone;
    if (atomic_fetch_sub(&mine->refs, 1) == 1) free(mine);
}

const char *pawl__zone_name(const struct pawl__zone *zone)
{
    return zone->name;
}

uint64_t pawl__zone_digest(const struct pawl__zone *zone)
{
    return zone->digest;
}

size_t pawl__zone_piece(const struct pawl__zone *zone, int64_t at_s)
{
    size_t low = 0, high = zone->count; // starts[low] <= at_s < starts[high]
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (zone->starts[middle] <= at_s) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int32_t pawl__zone_offset(const struct pawl__zone *zone, int64_t at_ms)
{
    return zone->offsets[pawl__zone_piece(zone, pawl__floor_div(at_ms, 1000))];
}

bool pawl__zone_is_name(const char *name)
{
    if (strcmp(name, "UTC") == 0) return true;
    size_t parts = 1, len = 0, total = strlen(name);
    if (total > PAWL_ZONE_BYTES_MAX) return false;
    if (strncmp(name, "posix/", 6) == 0 || strncmp(name, "right/", 6) == 0) return false;
    for (const char *c = name; *c; c++) {
        if (*c == '/') {
            if (len == 0) return false;
            parts++;
            len = 0;
        } else if (isalnum((unsigned char)*c) || *c == '_' || *c == '+' || *c == '-') {
            len++;
        } else {
            return false;
        }
    }
    return len > 0 && parts >= 2 && parts <= 3;
}
