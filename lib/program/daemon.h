/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DAEMON_H
#define TW_DAEMON_H

/*
 * The frame of a daemon: signals as a file descriptor, sockets from systemd, readiness
 * and watchdog messages to it, and the process's files. Daemons stay in the foreground.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;

/*
 * Block SIGTERM, SIGINT and SIGHUP in this thread and the threads started later, ignore
 * SIGPIPE, and open a signalfd (O_CLOEXEC, non-blocking) in *fd.
 */
int tw_signals_open(int *fd, struct tw_err *err);

/* SIGTERM and SIGINT stop the daemon, SIGHUP makes it reload. */
enum tw_signal { TW_SIGNAL_NONE, TW_SIGNAL_STOP, TW_SIGNAL_RELOAD };

/* Read the next pending signal from fd. Does not block. */
enum tw_signal tw_signals_next(int fd);

/*
 * Report that the daemon answers requests. Writes text (the bound address) and a newline
 * to ready_file atomically, unless it is NULL. Sends READY=1 to NOTIFY_SOCKET, if set.
 */
int tw_daemon_ready(const char *ready_file, const char *text, struct tw_err *err);

/* Report the start and the end of a reload: RELOADING=1, READY=1. */
void tw_daemon_reloading(void);
void tw_daemon_reloaded(void);

/*
 * The longest interval in ms between calls of tw_daemon_alive(): half of WATCHDOG_USEC.
 * 0 if the watchdog is off or is for another process.
 */
uint64_t tw_daemon_watchdog_ms(void);

/* Send WATCHDOG=1 to NOTIFY_SOCKET. */
void tw_daemon_alive(void);

/* Send STOPPING=1 to NOTIFY_SOCKET, and remove the ready file. */
void tw_daemon_stopping(const char *ready_file);

/*
 * Return free memory to the system. Loading a model needs many times the memory that the
 * model keeps, and glibc does not return it.
 */
void tw_daemon_trim(void);

/* ---- files ---- */

/*
 * Open /dev/null in place of standard input, output and error where they are closed, so
 * that no socket and no model gets the number of standard error, and the log with it. To
 * read such an input or to write such an output remains an error. Call it first in
 * main(). False if there is no /dev/null.
 */
bool tw_std_files_open(void);

/*
 * Raise the soft limit of open files (RLIMIT_NOFILE) to wanted, or to the hard limit if
 * that is lower; a higher soft limit stays. Returns the soft limit.
 */
uint64_t tw_file_limit_raise(uint64_t wanted);

/* ---- socket activation, sd_listen_fds(3) ---- */

#define TW_SYSTEMD_SOCKETS_MAX 64

/*
 * Take the sockets that systemd opened for this process: descriptors *first to
 * *first + *count - 1, which are yours and become O_CLOEXEC. *count is 0 without socket
 * activation. Call once, before threads are started: the variables LISTEN_* are unset, so
 * that child processes do not use them.
 */
int tw_systemd_sockets(int *first, unsigned *count, struct tw_err *err);

#endif /* TW_DAEMON_H */
