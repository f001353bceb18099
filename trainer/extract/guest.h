/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_GUEST_H
#define TW_TRAINER_GUEST_H

#include <stdbool.h>

struct tw_series;

/* The old programs' key, for tw_kepler_keys_load(); ended by NULL. */
extern const char *const tw_guest_keys[];

/*
 * Whether the series is of a guest (a virtual machine), whose power is its host's: by its
 * job, which is "vm", or what VM_JOB_NAME in the environment says.
 */
bool tw_series_is_guest(const struct tw_series *s);

#endif /* TW_TRAINER_GUEST_H */
