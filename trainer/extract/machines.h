/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MACHINES_H
#define TW_TRAINER_MACHINES_H

/*
 * Machines of a response. A series' machine is what the most telling of its schema's
 * machine labels says (node_name, then exported_instance, then instance). A series that
 * has only a less telling one is of the machine whose other series have the same text
 * there: Kepler says exported_instance on energy, and only instance on usage.
 *
 * Series with job="vm" are of a guest, whose power is its host's: no machine is theirs.
 */

#include "trainer/extract/machines_alias.h"

#include <stddef.h>

struct tw_err;
struct tw_prom;

/* All zero bytes is none. Texts are the response's. */
struct tw_machines {
	const char **name; /* in order */
	size_t count;
	struct tw_machine_aliases aliases;
};

/*
 * *out must be all zero; it is yours, and lives no longer than the response. TW_INVALID
 * where there are several machines and a series that could be of more than one of them.
 */
int tw_machines_find(const struct tw_prom *p, struct tw_machines *out,
		     struct tw_err *err);

/*
 * The response with the series of one machine, and those with job="vm". *out is yours:
 * tw_prom_free(); its series are p's, which must outlive it. TW_NOTFOUND where there is
 * no such machine.
 */
int tw_machines_select(const struct tw_machines *m, const struct tw_prom *p,
		       const char *name, struct tw_prom **out, struct tw_err *err);

/*
 * The response of each machine, without guests', in one pass: out has room for m->count,
 * all NULL. What was made is in it after a failure as well; the caller frees each.
 */
int tw_machines_split(const struct tw_machines *m, const struct tw_prom *p,
		      struct tw_prom **out, struct tw_err *err);

void tw_machines_release(struct tw_machines *m);

#endif /* TW_TRAINER_MACHINES_H */
