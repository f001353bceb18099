/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_RIGHTS_H
#define TW_COLLECTOR_RIGHTS_H

/* The rights that a collector keeps once everything is open. */

#include <stdbool.h>

struct tw_collector;
struct tw_collector_settings;
struct tw_err;

/*
 * Drop all rights that c does not need (collector/system/privilege.h). Creates the output
 * directories of c and gives them to the new user.
 */
int tw_rights_drop(const struct tw_collector *c, const struct tw_collector_settings *s,
		   struct tw_err *err);

#endif /* TW_COLLECTOR_RIGHTS_H */
