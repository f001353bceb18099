/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/rapl.h"

#include "collector/system/processors.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <string.h>

#define COUNTER_BITS 32

/* MSR_PKG_ENERGY_STATUS and so on. Reading a register that a model lacks fails. */
static const struct tw_rapl_register intel[] = {
	{ 0x611, TW_ZONE_PACKAGE, TW_RAPL_PACKAGE },
	{ 0x639, TW_ZONE_CORE, TW_RAPL_PACKAGE },
	{ 0x641, TW_ZONE_UNCORE, TW_RAPL_PACKAGE },
	{ 0x619, TW_ZONE_DRAM, TW_RAPL_PACKAGE },
	{ 0x64d, TW_ZONE_PSYS, TW_RAPL_MACHINE },
};

static const struct tw_rapl_register amd[] = {
	{ 0xc001029b, TW_ZONE_PACKAGE, TW_RAPL_PACKAGE },
	{ 0xc001029a, TW_ZONE_CORE, TW_RAPL_CORE },
};

/*
 * Intel models of family 6 whose unit differs from the unit register: servers from
 * Haswell to Ice Lake count dram in 15.3 uJ, servers since Sapphire Rapids count psys in
 * J, and small Atoms count everything in 2^n uJ. Only Cascade Lake-AP has counters for
 * each die; the dies of newer models show the registers of their package.
 */
static const struct {
	uint32_t model, dram_nj, psys_nj;
	bool in_uj, by_die;
} models[] = {
	{ .model = 0x3f, .dram_nj = 15300 }, /* Haswell-EP */
	{ .model = 0x4f, .dram_nj = 15300 }, /* Broadwell-EP */
	{ .model = 0x55,
	  .dram_nj = 15300,
	  .by_die = true },                       /* Skylake-SP, Cascade Lake */
	{ .model = 0x57, .dram_nj = 15300 },      /* Knights Landing */
	{ .model = 0x6a, .dram_nj = 15300 },      /* Ice Lake-SP */
	{ .model = 0x6c, .dram_nj = 15300 },      /* Ice Lake-D */
	{ .model = 0x85, .dram_nj = 15300 },      /* Knights Mill */
	{ .model = 0x8f, .psys_nj = 1000000000 }, /* Sapphire Rapids */
	{ .model = 0xcf, .psys_nj = 1000000000 }, /* Emerald Rapids */
	{ .model = 0x37, .in_uj = true },         /* Silvermont */
	{ .model = 0x4a, .in_uj = true },         /* Merrifield */
	{ .model = 0x4c, .in_uj = true },         /* Airmont */
	{ .model = 0x5a, .in_uj = true },         /* Moorefield */
};

static bool has_vendor(const struct tw_processor *p, const char *vendor)
{
	return strcmp(p->vendor, vendor) == 0;
}

bool tw_rapl_is_amd(const struct tw_processor *p)
{
	return has_vendor(p, "AuthenticAMD") || has_vendor(p, "HygonGenuine");
}

static uint64_t number_or_0(const char *text)
{
	uint64_t n;

	return tw_parse_u64(text, strlen(text), &n) ? n : 0;
}

static void find_model(const struct tw_processor *p, struct tw_rapl *r)
{
	const uint64_t model = number_or_0(p->model_number);

	for (size_t i = 0; i < TW_COUNT(models); i++) {
		if (models[i].model != model || number_or_0(p->family) != 6)
			continue;
		r->dram_nj = models[i].dram_nj;
		r->psys_nj = models[i].psys_nj;
		r->in_uj = models[i].in_uj;
		r->by_die = models[i].by_die;
	}
}

int tw_rapl_find(const struct tw_processor *p, struct tw_rapl *out, struct tw_err *err)
{
	struct tw_rapl r = { .unit_at = 0x606, .reg = intel, .regs = TW_COUNT(intel) };

	if (has_vendor(p, "GenuineIntel")) {
		find_model(p, &r);
	} else if (tw_rapl_is_amd(p) && number_or_0(p->family) >= 0x17) {
		/* AMD's dies, as Linux numbers them, have no counters of their own. */
		r = (struct tw_rapl){ .unit_at = 0xc0010299,
				      .reg = amd,
				      .regs = TW_COUNT(amd) };
	} else {
		return tw_fail(err, TW_UNSUPPORTED,
			       "no known RAPL registers for processors '%s', family '%s'",
			       p->vendor, p->family);
	}
	*out = r;
	return 0;
}

struct tw_rapl_unit tw_rapl_unit_of(const struct tw_rapl *r, enum tw_zone_kind kind,
				    uint64_t unit)
{
	const uint64_t power = UINT64_C(1) << (unit >> 8 & 0x1f);
	const uint32_t nj = kind == TW_ZONE_DRAM   ? r->dram_nj
			    : kind == TW_ZONE_PSYS ? r->psys_nj
						   : 0;

	if (nj != 0)
		return (struct tw_rapl_unit){ nj, 1000 };
	if (r->in_uj)
		return (struct tw_rapl_unit){ power, 1 };
	return (struct tw_rapl_unit){ 1000000, power };
}

/* No overflow: at most 32 bits times 2^31. */
uint64_t tw_rapl_uj(struct tw_rapl_unit u, uint64_t value)
{
	return (value & UINT32_MAX) * u.mul / u.div;
}

uint64_t tw_rapl_range_uj(struct tw_rapl_unit u)
{
	return (UINT64_C(1) << COUNTER_BITS) * u.mul / u.div - 1;
}
