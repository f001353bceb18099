/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/microarch.h"

#include "collector/system/processors.h"
#include "lib/core/array.h"
#include "lib/core/num.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ANY UINT32_MAX

/*
 * Families and models as in the manuals of Intel and AMD (for Intel, see also Linux'
 * intel-family.h). If steppings of a model are different parts, `last` is the highest
 * stepping of a row; the rows of a model are in order.
 */
static const struct {
	const char *vendor;
	uint32_t family, model, last;
	const char *name;
} known[] = {
#define INTEL(model, last, name)                     \
	{                                            \
		"GenuineIntel", 6, model, last, name \
	}
#define AMD(family, model, name)                         \
	{                                                \
		"AuthenticAMD", family, model, ANY, name \
	}
	INTEL(42, ANY, "Sandy Bridge"),
	INTEL(45, ANY, "Sandy Bridge"),
	INTEL(58, ANY, "Ivy Bridge"),
	INTEL(62, ANY, "Ivy Bridge"),
	INTEL(60, ANY, "Haswell"),
	INTEL(63, ANY, "Haswell"),
	INTEL(69, ANY, "Haswell"),
	INTEL(70, ANY, "Haswell"),
	INTEL(61, ANY, "Broadwell"),
	INTEL(71, ANY, "Broadwell"),
	INTEL(79, ANY, "Broadwell"),
	INTEL(86, ANY, "Broadwell"),
	INTEL(78, ANY, "Skylake"),
	INTEL(94, ANY, "Skylake"),
	INTEL(85, 4, "Skylake"),
	INTEL(85, 9, "Cascade Lake"),
	INTEL(85, ANY, "Cooper Lake"),
	INTEL(142, 9, "Kaby Lake"),
	INTEL(142, ANY, "Coffee Lake"),
	INTEL(158, 9, "Kaby Lake"),
	INTEL(158, ANY, "Coffee Lake"),
	INTEL(106, ANY, "Sunny Cove"),
	INTEL(108, ANY, "Sunny Cove"),
	INTEL(140, ANY, "Willow Cove"),
	INTEL(141, ANY, "Willow Cove"),
	INTEL(167, ANY, "Cypress Cove"),
	INTEL(151, ANY, "Golden Cove"),
	INTEL(154, ANY, "Golden Cove"),
	INTEL(183, ANY, "Raptor Cove"),
	INTEL(143, ANY, "Sapphire Rapids"),
	INTEL(207, ANY, "Emerald Rapids"),
	INTEL(173, ANY, "Granite Rapids"),
	INTEL(175, ANY, "Sierra Forest"),
	AMD(23, 1, "Zen"),
	AMD(23, 49, "Zen 2"),
	AMD(25, 1, "Zen 3"),
	AMD(25, 17, "Zen 4"),
	AMD(25, 160, "Zen 4c"),
};

static uint32_t number_of(const char *text)
{
	uint64_t n;

	return tw_parse_u64(text, strlen(text), &n) && n < ANY ? (uint32_t)n : ANY;
}

const char *tw_microarch_name(const struct tw_processor *p)
{
	const uint32_t family = number_of(p->family), model = number_of(p->model_number),
		       stepping = number_of(p->stepping);

	for (size_t i = 0; i < TW_COUNT(known); i++)
		if (family == known[i].family && model == known[i].model &&
		    stepping <= known[i].last && strcmp(p->vendor, known[i].vendor) == 0)
			return known[i].name;
	return NULL;
}
