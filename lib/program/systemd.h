/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SYSTEMD_H
#define TW_SYSTEMD_H

/*
 * Socket activation, sd_listen_fds(3). Readiness is in lib/program/daemon.h.
 */

struct tw_err;

#define TW_SYSTEMD_SOCKETS_MAX 64

/*
 * Take the sockets that systemd opened for this process: descriptors *first to
 * *first + *count - 1, which are yours and become O_CLOEXEC. *count is 0 without socket
 * activation. Call once, before threads are started: the variables LISTEN_* are unset, so
 * that child processes do not use them.
 */
int tw_systemd_sockets(int *first, unsigned *count, struct tw_err *err);

#endif /* TW_SYSTEMD_H */
