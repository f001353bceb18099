/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_GUEST_H
#define TW_TRAINER_GUEST_H

/*
 * Series of virtual machines. The power of a VM is its host's, so its series belong to no
 * machine of a response (trainer/response/machines.h).
 */

#include <stdbool.h>

struct tw_err;
struct tw_schema;
struct tw_series;

/* Environment variables of the Kepler programs that this module reads, for
 * tw_kepler_keys_load(); ends with NULL. */
extern const char *const tw_guest_keys[];

/* Whether the series is of a VM: its job is "vm", or VM_JOB_NAME of the environment. */
bool tw_series_is_guest(const struct tw_series *s);

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

#endif /* TW_TRAINER_GUEST_H */
