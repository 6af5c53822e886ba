/* A name in NOTIFY_SOCKET that begins with @ is in Linux's abstract namespace. */
#include "base/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void pawl__notify(const char *state)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    const char *name = secure_getenv("NOTIFY_SOCKET");
    size_t len = name ? strlen(name) : 0;
    if (!len || len > sizeof to.sun_path || (name[0] != '/' && name[0] != '@')) return;
    memcpy(to.sun_path, name, len);
    if (name[0] == '@') to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}
