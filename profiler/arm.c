/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/arm.h"

#include "lib/core/array.h"

#include <stddef.h>

/* Implementer codes are those of the Arm Architecture Reference Manual, MIDR_EL1. */
static const struct {
	uint32_t implementer;
	const char *name;
} vendors[] = {
	{ 0x41, "arm" },      { 0x42, "broadcom" },  { 0x43, "cavium" },
	{ 0x46, "fujitsu" },  { 0x48, "hisilicon" }, { 0x4e, "nvidia" },
	{ 0x51, "qualcomm" }, { 0x61, "apple" },     { 0x70, "phytium" },
	{ 0xc0, "ampere" },
};

/* Part numbers are those of the makers' technical reference manuals. */
static const struct {
	uint32_t implementer, part;
	const char *name;
} parts[] = {
	{ 0x41, 0xd03, "Cortex-A53" },  { 0x41, 0xd04, "Cortex-A35" },
	{ 0x41, 0xd05, "Cortex-A55" },  { 0x41, 0xd07, "Cortex-A57" },
	{ 0x41, 0xd08, "Cortex-A72" },  { 0x41, 0xd09, "Cortex-A73" },
	{ 0x41, 0xd0a, "Cortex-A75" },  { 0x41, 0xd0b, "Cortex-A76" },
	{ 0x41, 0xd0c, "Neoverse-N1" }, { 0x41, 0xd0d, "Cortex-A77" },
	{ 0x41, 0xd40, "Neoverse-V1" }, { 0x41, 0xd41, "Cortex-A78" },
	{ 0x41, 0xd49, "Neoverse-N2" }, { 0x41, 0xd4a, "Neoverse-E1" },
	{ 0x41, 0xd4f, "Neoverse-V2" }, { 0x43, 0x0af, "ThunderX2" },
	{ 0x46, 0x001, "A64FX" },       { 0x48, 0xd01, "TaiShan-v110" },
	{ 0xc0, 0xac3, "Ampere-1" },    { 0xc0, 0xac4, "Ampere-1a" },
};

const char *tw_arm_vendor(uint32_t implementer)
{
	for (size_t i = 0; i < TW_COUNT(vendors); i++)
		if (vendors[i].implementer == implementer)
			return vendors[i].name;
	return NULL;
}

const char *tw_arm_part(uint32_t implementer, uint32_t part)
{
	for (size_t i = 0; i < TW_COUNT(parts); i++)
		if (parts[i].implementer == implementer && parts[i].part == part)
			return parts[i].name;
	return NULL;
}
