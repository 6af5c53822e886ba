/* Zones by name. The lock guards the table of names only: files are read without it, since a disk
 * may be slow. */
#include "schedule/inside.h"

#include "base/diag.h"
#include "base/hashtable.h"
#include "base/sync.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_BYTES_MAX = 256 * 1024,
    PATH_BYTES_MAX = 512,
    NAMES_MAX = 2048, /* several times as many as there are zones */
};

#define LOOK_EVERY_US INT64_C(60000000)

static const char *const folders[] = { "/usr/share/zoneinfo", "/usr/share/lib/zoneinfo",
                                       "/etc/zoneinfo" };

/* Tells whether a file is another one, or has changed. */
struct stamp {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed;
};

struct entry {
    struct pawl__hash_link link;
    struct entry *next;            /* in order of arrival; entries stay until the end */
    const struct pawl__zone *zone; /* NULL: the file has vanished or cannot be used */
    struct stamp stamp;
    char name[PAWL_ZONE_BYTES_MAX + 1];
};

struct pawl__zones {
    const char *folder; /* NULL: the system's */
    struct pawl__mutex mutex;
    /* guarded by mutex: */
    struct pawl__hashtable by_name;
    struct entry *entries;
    uint64_t generation;
    int64_t looked_at_us;
    bool looked, looking;
};

struct pawl__zones *pawl__zones_new(const char *folder)
{
    struct pawl__zones *zones = calloc(1, sizeof *zones);
    if (!zones) return NULL;
    zones->folder = folder;
    pawl__mutex_init(&zones->mutex);
    return zones;
}

void pawl__zones_free(struct pawl__zones *zones)
{
    if (!zones) return;
    for (struct entry *entry = zones->entries, *next; entry; entry = next) {
        next = entry->next;
        pawl__zone_unref(entry->zone);
        free(entry);
    }
    pawl__hashtable_release(&zones->by_name);
    pawl__mutex_release(&zones->mutex);
    free(zones);
}

/* ---- files ---- */

static int open_in(const char *folder, const char *name)
{
    char path[PATH_BYTES_MAX];
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof path) return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static int open_file(const struct pawl__zones *zones, const char *name)
{
    if (zones->folder) return open_in(zones->folder, name);
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < sizeof folders / sizeof *folders; i++) {
        fd = open_in(folders[i], name);
    }
    return fd;
}

static bool stamp_of(int fd, struct stamp *out)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    *out = (struct stamp){ .device = status.st_dev,
                           .inode = status.st_ino,
                           .bytes = status.st_size,
                           .changed = status.st_mtim };
    return true;
}

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Reads all of a file; false with errno. */
static bool read_all(int fd, char *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t got = read(fd, bytes + done, len - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static enum pawl_err fail_unknown(const char *name, struct pawl_diag *diag)
{
    return pawl__fail_field(diag, PAWL_ERR_ARG, "zone", "there is no time zone \"%.*s\"",
                            PAWL_ZONE_BYTES_MAX, name);
}

static enum pawl_err load(const struct pawl__zones *zones, const char *name, struct stamp *stamp,
                          const struct pawl__zone **out, struct pawl_diag *diag)
{
    enum pawl_err err;
    char *bytes = NULL;
    int fd = open_file(zones, name);
    if (fd < 0 || !stamp_of(fd, stamp)) {
        err = fail_unknown(name, diag);
        goto out;
    }
    if (stamp->bytes > FILE_BYTES_MAX) {
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "zone",
                               "the file of zone \"%s\" cannot be used: it is too large", name);
        goto out;
    }
    bytes = malloc((size_t)stamp->bytes + 1);
    if (!bytes) {
        err = pawl__fail_nomem(diag);
        goto out;
    }
    if (!read_all(fd, bytes, (size_t)stamp->bytes)) {
        err = pawl__fail_field(diag, PAWL_ERR_ARG, "zone",
                               "the file of zone \"%s\" could not be read", name);
        goto out;
    }
    err = pawl__zone_parse(name, bytes, (size_t)stamp->bytes, out, diag);
out:
    free(bytes);
    if (fd >= 0) close(fd);
    return err;
}

/* ---- names ---- */

static struct entry *find(const struct pawl__zones *zones, const char *name)
{
    struct pawl__hash_link *link = pawl__hashtable_first(&zones->by_name, pawl__hash_text(name));
    for (; link; link = pawl__hashtable_next(link)) {
        struct entry *entry = (struct entry *)link; // its first member
        if (strcmp(entry->name, name) == 0) return entry;
    }
    return NULL;
}

/* Adds an entry without a zone, or finds it; NULL: out of memory, or too many names. */
static struct entry *find_or_add(struct pawl__zones *zones, const char *name)
{
    struct entry *entry = find(zones, name);
    if (entry || zones->by_name.count >= NAMES_MAX) return entry;
    entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    memcpy(entry->name, name, strlen(name) + 1);
    if (!pawl__hashtable_add(&zones->by_name, &entry->link, pawl__hash_text(name))) {
        free(entry);
        return NULL;
    }
    entry->next = zones->entries;
    zones->entries = entry;
    return entry;
}

enum pawl_err pawl__zones_get(struct pawl__zones *zones, const char *name,
                              const struct pawl__zone **out, struct pawl_diag *diag)
{
    if (!pawl__zone_is_name(name)) return fail_unknown(name, diag);
    if (strcmp(name, "UTC") == 0) {
        *out = pawl__zone_utc();
        return PAWL_OK;
    }
    pawl__lock(&zones->mutex);
    struct entry *entry = find(zones, name);
    const struct pawl__zone *known = entry && entry->zone ? pawl__zone_ref(entry->zone) : NULL;
    pawl__unlock(&zones->mutex);
    if (known) {
        *out = known;
        return PAWL_OK;
    }
    struct stamp stamp = { 0 };
    const struct pawl__zone *zone;
    enum pawl_err err = load(zones, name, &stamp, &zone, diag);
    if (err) return err;
    pawl__lock(&zones->mutex);
    zones->generation += find(zones, name) != NULL; // it has come back
    entry = find_or_add(zones, name);
    if (entry && !entry->zone) { // no other thread was faster
        entry->zone = pawl__zone_ref(zone);
        entry->stamp = stamp;
    }
    pawl__unlock(&zones->mutex);
    *out = zone;
    return PAWL_OK;
}

/* ---- changes ---- */

/* Puts `taken_zone` (NULL: vanished) into an entry; true if that changes its rules. */
static bool replace(struct pawl__zones *zones, struct entry *entry,
                    const struct pawl__zone *taken_zone, const struct stamp *stamp)
{
    pawl__lock(&zones->mutex);
    const struct pawl__zone *old = entry->zone;
    bool changed = !old != !taken_zone || (old && old->digest != taken_zone->digest);
    entry->zone = taken_zone;
    entry->stamp = *stamp;
    pawl__unlock(&zones->mutex);
    pawl__zone_unref(old);
    return changed;
}

static bool refresh_entry(struct pawl__zones *zones, struct entry *entry)
{
    struct stamp stamp = { 0 }, before;
    pawl__lock(&zones->mutex);
    before = entry->stamp;
    pawl__unlock(&zones->mutex);
    int fd = open_file(zones, entry->name);
    bool there = fd >= 0 && stamp_of(fd, &stamp);
    if (fd >= 0) close(fd);
    if (same_stamp(&stamp, &before)) return false; // all zeros if it is still not there
    const struct pawl__zone *zone = NULL;
    if (there && load(zones, entry->name, &stamp, &zone, NULL) != PAWL_OK) zone = NULL;
    return replace(zones, entry, zone, &stamp);
}

uint64_t pawl__zones_refresh(struct pawl__zones *zones, int64_t mono_us)
{
    pawl__lock(&zones->mutex);
    uint64_t generation = zones->generation;
    bool due = !zones->looking &&
               (!zones->looked || mono_us - zones->looked_at_us >= LOOK_EVERY_US);
    struct entry *entries = zones->entries;
    if (due) {
        zones->looking = zones->looked = true;
        zones->looked_at_us = mono_us;
    }
    pawl__unlock(&zones->mutex);
    if (!due) return generation;
    bool changed = false;
    for (struct entry *entry = entries; entry; entry = entry->next) {
        changed = refresh_entry(zones, entry) || changed;
    }
    pawl__lock(&zones->mutex);
    zones->generation += changed;
    generation = zones->generation;
    zones->looking = false;
    pawl__unlock(&zones->mutex);
    return generation;
}
