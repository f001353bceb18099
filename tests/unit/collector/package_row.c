/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/package_row.h"

#include <string.h>

struct tw_ask_row package_row(const char *level, const char *id, uint64_t uj)
{
	struct tw_ask_row r = { .energies = 1 };

	strcpy(r.level, level);
	strcpy(r.id, id);
	strcpy(r.energy[0].zone, "package");
	strcpy(r.energy[0].source, "rapl-sysfs");
	r.energy[0].dynamic_uj = uj;
	r.energy[0].watts = 5;
	r.energy[0].powered = 1;
	return r;
}
