/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/output_name.h"

#include <string.h>

static const struct tw_output_name names[] = {
	{ "AbsComponentModelWeight", TW_ABS_POWER, true, TW_CLIENT_0_5 },
	{ "AbsComponentPower", TW_ABS_POWER, false, TW_CLIENT_0_5 },
	{ "AbsModelWeight", TW_ABS_POWER, true, TW_CLIENT_0_5_TOTAL },
	{ "AbsPower", TW_ABS_POWER, false, TW_CLIENT_0_5_TOTAL },
	{ "DynComponentModelWeight", TW_DYN_POWER, true, TW_CLIENT_0_5 },
	{ "DynComponentPower", TW_DYN_POWER, false, TW_CLIENT_0_5 },
	{ "DynModelWeight", TW_DYN_POWER, true, TW_CLIENT_0_5_TOTAL },
	{ "DynPower", TW_DYN_POWER, false, TW_CLIENT_0_5_TOTAL },
};

const struct tw_output_name *tw_output_name_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0)
			return &names[i];
	return NULL;
}
