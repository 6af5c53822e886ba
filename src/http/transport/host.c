/* Names of hosts: what is one, and which are this machine's own. */
#include "http/transport/host.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES_MAX = 255 };

/* Without the port; an address in brackets with them. */
static size_t name_len(const char *text)
{
    return text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
}

static bool is_port(const char *text)
{
    size_t len = strspn(text, "0123456789");
    return !text[len] && len <= 5 && strtol(text, NULL, 10) <= 65535;
}

/* The name without brackets and port. False: it is too long to be one. */
static bool copy_name(const char *text, char out[NAME_BYTES_MAX + 1])
{
    size_t len = name_len(text);
    bool six = text[0] == '[';
    if (len > NAME_BYTES_MAX) return false;
    if (six) {
        text++;
        len -= 2;
    }
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

bool pawl__host_is_one(const char *text)
{
    static const char name_chars[] = "-._~0123456789"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char name[NAME_BYTES_MAX + 1];
    struct in6_addr address;
    if (text[0] == '[' && !strchr(text, ']')) return false;
    if (!copy_name(text, name)) return false;
    const char *behind = text + name_len(text);
    if (behind[0] && (behind[0] != ':' || !is_port(behind + 1))) return false;
    if (text[0] == '[') return inet_pton(AF_INET6, name, &address) == 1;
    return name[0] && !name[strspn(name, name_chars)];
}

bool pawl__host_is_local(const char *text)
{
    static const char local[] = "localhost";
    char name[NAME_BYTES_MAX + 1];
    struct in_addr four;
    struct in6_addr six;
    if (!copy_name(text, name)) return false;
    if (text[0] == '[') return inet_pton(AF_INET6, name, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
    if (inet_pton(AF_INET, name, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
    size_t len = strlen(name), tail = sizeof local - 1;
    if (len < tail || strcasecmp(name + len - tail, local) != 0) return false;
    return len == tail || name[len - tail - 1] == '.';
}

bool pawl__host_is(const char *text, const char *name)
{
    size_t len = name_len(text);
    return len == name_len(name) && strncasecmp(text, name, len) == 0;
}
