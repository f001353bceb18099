/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MACHINES_H
#define TW_TRAINER_MACHINES_H

/*
 * The machines of a response.
 *
 * A series' machine is the text of its first machine label: node_name, else
 * exported_instance, else instance. Some exporters put the first labels on some series
 * only: Kepler has exported_instance on energy and only instance on usage. So an alias
 * maps a text of a later label to the machine of series that have both labels.
 *
 * Names that are only host:port (from instance) and differ in the port are one machine:
 * an exporter that was restarted on another port, or several exporters. They are separate
 * machines behind one address if a metric has samples of both ports in the same period.
 *
 * The power of a VM is its host's, so series of VMs belong to no machine.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_prom;
struct tw_schema;
struct tw_series;

/* The text of `label` means the machine that to_label names. */
struct tw_machine_alias {
	const char *label, *text, *to_label, *to_text;
};

struct tw_machine_aliases {
	struct tw_machine_alias *at;
	size_t count, size;
};

/* Which machines' series become a part of their own. */
enum tw_machine_parts {
	TW_PARTS_NONE,
	TW_PARTS_OF_SEVERAL, /* a part for each machine, unless there is one only */
	TW_PARTS_OF_EACH,
};

/* Limit of machines with TW_PARTS_OF_SEVERAL. */
#define TW_MACHINES_MAX 1024

/* All zero bytes is empty. Texts and series are the response's. */
struct tw_machines {
	const char **name; /* sorted */
	size_t count;
	/* The response of each machine, without VMs, or NULL: see tw_machines_find(). */
	struct tw_prom **part;
	bool several; /* the response is of several machines, even if one was selected */
	struct tw_machine_aliases aliases;
};

/*
 * Find the machines of a response and make their parts. only (or NULL) selects one
 * machine: *out has it alone, and its part, which has the series of VMs, too; TW_NOTFOUND
 * if there is no such machine. *out must be all zero; the caller releases it before the
 * response. TW_INVALID if the response has several machines and a series could be of more
 * than one.
 */
int tw_machines_find(const struct tw_prom *p, const char *only,
		     enum tw_machine_parts parts, struct tw_machines *out,
		     struct tw_err *err);

/* The part of machine i; the response p if there are no parts. */
const struct tw_prom *tw_machines_part(const struct tw_machines *m, size_t i,
				       const struct tw_prom *p);

/*
 * The response of the machine of that name, as tw_machines_find() selects it, which the
 * caller frees before p. With name NULL the response must be of one machine, and *out
 * stays NULL.
 */
int tw_machines_single(const struct tw_prom *p, const char *name, struct tw_prom **out,
		       struct tw_err *err);

void tw_machines_release(struct tw_machines *m);

/* ---- virtual machines ---- */

#define TW_GUEST_LABELS_MAX 4

/* The VM of an extraction: the first text of each machine label. All zero bytes: no
 * series was seen yet. */
struct tw_guest {
	const char *label[TW_GUEST_LABELS_MAX];
};

/* TW_INVALID if the series is of another VM than the series before it. guest may be NULL:
 * nothing is checked. */
int tw_guest_check(struct tw_guest *guest, const struct tw_schema *schema,
		   const struct tw_series *s, struct tw_err *err);

#endif /* TW_TRAINER_MACHINES_H */
