/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_RIGHTS_H
#define TW_COLLECTOR_RIGHTS_H

/*
 * Which rights a collector keeps once all is open.
 */

#include <stdbool.h>

struct tw_collector;
struct tw_collector_settings;
struct tw_err;

/*
 * Give up all but what c needs to go on (collector/system/privilege.h). Directories that
 * c writes to are made, and the new user's. *filtered: whether system calls are.
 */
int tw_rights_drop(const struct tw_collector *c, const struct tw_collector_settings *s,
		   bool *filtered, struct tw_err *err);

#endif /* TW_COLLECTOR_RIGHTS_H */
