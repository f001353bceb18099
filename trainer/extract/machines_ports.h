/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MACHINES_PORTS_H
#define TW_TRAINER_MACHINES_PORTS_H

/*
 * Names of machines that are a host with a port, as `instance` has them, and nothing
 * more telling. Several ports of a host are one machine: an exporter that was started
 * again on another, or several exporters. They are not where one metric has samples of
 * both in the same time: then they are machines behind one address. A part of
 * trainer/extract/machines.c.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_prom;

/* Behind the last of the sorted names from i on that are the host of name[i] with a port.
 */
size_t tw_machines_host_end(const char *const *name, size_t count, size_t i);

/* Whether name[0..count), a host's, are one machine. */
bool tw_machines_same_host(const struct tw_prom *p, const char *const *name,
			   size_t count);

#endif /* TW_TRAINER_MACHINES_PORTS_H */
