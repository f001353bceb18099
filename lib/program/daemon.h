/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DAEMON_H
#define TW_DAEMON_H

/*
 * What every daemon's main() does around its work: signals as a file descriptor,
 * readiness, SIGPIPE ignored. Foreground only; systemd daemonises.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/*
 * Block SIGTERM, SIGINT and SIGHUP in this thread and those started after it, ignore
 * SIGPIPE, and return a signalfd (O_CLOEXEC, non-blocking) in *fd.
 */
int tw_signals_open(int *fd, struct tw_err *err);

enum tw_signal { TW_SIGNAL_NONE, TW_SIGNAL_STOP, TW_SIGNAL_RELOAD };

/* The next signal waiting on fd. */
enum tw_signal tw_signals_next(int fd);

/*
 * Tell the world that requests are answered: write text (the bound address) and a
 * newline to ready_file atomically if it is not NULL, and READY=1 to NOTIFY_SOCKET if
 * set.
 */
int tw_daemon_ready(const char *ready_file, const char *text, struct tw_err *err);

/* RELOADING=1 to NOTIFY_SOCKET; READY=1 once it is done. */
void tw_daemon_reloading(void);
void tw_daemon_reloaded(void);

/*
 * How often systemd wants to hear WATCHDOG=1 from this process, at least: half of what
 * WATCHDOG_USEC says, in ms; 0 if it does not.
 */
uint64_t tw_daemon_watchdog_ms(void);

/* WATCHDOG=1 to NOTIFY_SOCKET. */
void tw_daemon_alive(void);

/* STOPPING=1 to NOTIFY_SOCKET, and remove the ready file. */
void tw_daemon_stopping(const char *ready_file);

/*
 * Give memory that is free back to the system. Loading a model takes many times what the
 * model keeps, and the C library holds on to it.
 */
void tw_daemon_trim(void);

#endif /* TW_DAEMON_H */
