/* Notifies the service manager of the process's state, by systemd's protocol: a datagram to the
 * socket that NOTIFY_SOCKET names. Any thread; does not block. */
#ifndef PAWL_BASE_NOTIFY_H
#define PAWL_BASE_NOTIFY_H

/* Borrows `state`: "READY=1", "STOPPING=1". Does nothing if NOTIFY_SOCKET is not set; errors are
 * ignored, since a manager that is gone is no reason to fail. */
void pawl__notify(const char *state);

#endif
