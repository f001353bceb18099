/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SYSTEMD_H
#define TW_SYSTEMD_H

/*
 * Sockets that systemd, or whoever speaks its protocol, opened for this process:
 * sd_listen_fds(3). Telling it when the daemon is ready is in lib/program/daemon.h.
 */

struct tw_err;

#define TW_SYSTEMD_SOCKETS_MAX 64

/*
 * How many there are: descriptors *first, *first + 1, .., which are yours and O_CLOEXEC
 * from now on. *count is 0 where none are for this process. Once, before threads are
 * started: the environment is cleared, so that children do not take them for theirs.
 */
int tw_systemd_sockets(int *first, unsigned *count, struct tw_err *err);

#endif /* TW_SYSTEMD_H */
