/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fenced.h"
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "profiler/cpu_identity.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTEL(f, m, s)                                                           \
	{                                                                        \
		.vendor = "genuineintel", .family = f, .model = m, .stepping = s \
	}
#define AMD(f, m, s)                                                             \
	{                                                                        \
		.vendor = "authenticamd", .family = f, .model = m, .stepping = s \
	}
#define HYGON(f, m, s)                                                           \
	{                                                                        \
		.vendor = "hygongenuine", .family = f, .model = m, .stepping = s \
	}
#define ARM(i, p)                           \
	{                                   \
		.implementer = i, .part = p \
	}
#define NO_SIGNATURE        \
	{                   \
		.family = 0 \
	}

struct expected {
	const char *brand;
	struct tw_cpu_signature sig;
	const char *vendor, *architecture, *generation;
	uint32_t cores, nominal_mhz, tdp_w;
};

static void identify(const char *brand, const struct tw_cpu_signature *sig,
		     struct tw_cpu_identity *out)
{
	const size_t len = strlen(brand);
	struct fenced exact = fenced_copy(brand, len, true);

	tw_cpu_identify(exact.data, len, sig, out);
	fenced_free(&exact);
}

static void expect(const struct expected *want)
{
	struct tw_cpu_identity id;

	identify(want->brand, &want->sig, &id);
	if (strcmp(id.vendor, want->vendor) != 0 ||
	    strcmp(id.architecture, want->architecture) != 0 ||
	    strcmp(id.generation, want->generation) != 0 || id.cores != want->cores ||
	    id.nominal_mhz != want->nominal_mhz || id.tdp_w != want->tdp_w)
		fail_msg("'%s' is '%s' '%s' '%s' %u cores %u MHz %u W", want->brand,
			 id.vendor, id.architecture, id.generation, id.cores,
			 id.nominal_mhz, id.tdp_w);
}

/* Amazon, Microsoft, Google, Alibaba, Tencent, Oracle. */
static const struct expected cloud[] = {
	{ "AMD EPYC 7R13 Processor", AMD(25, 1, 1), "amd", "zen3", "milan", 48, 2650,
	  225 },
	{ "AMD EPYC 7R32", AMD(23, 49, 0), "amd", "zen2", "rome", 48, 2800, 0 },
	{ "AMD EPYC 7571", AMD(23, 1, 2), "amd", "zen", "naples", 32, 2200, 0 },
	{ "AMD EPYC 9R14", AMD(25, 17, 1), "amd", "zen4", "genoa", 96, 2600, 0 },
	{ "AMD EPYC 9R45", AMD(26, 2, 1), "amd", "zen5", "turin", 96, 0, 0 },
	{ "AMD EPYC 7B12", AMD(23, 49, 0), "amd", "zen2", "rome", 64, 2250, 240 },
	{ "AMD EPYC 7B13", AMD(25, 1, 0), "amd", "zen3", "milan", 64, 2450, 0 },
	{ "AMD EPYC 9B14", AMD(25, 17, 1), "amd", "zen4", "genoa", 96, 2600, 0 },
	{ "AMD EPYC 9B45", AMD(26, 2, 1), "amd", "zen5", "turin", 0, 0, 0 },
	{ "AMD EPYC 7763 64-Core Processor", AMD(25, 1, 1), "amd", "zen3", "milan", 64,
	  2450, 280 },
	{ "AMD EPYC 7V12 64-Core Processor", AMD(23, 49, 0), "amd", "zen2", "rome", 64,
	  2450, 240 },
	{ "AMD EPYC 7V73X 64-Core Processor", AMD(25, 1, 2), "amd", "zen3", "milan_x", 64,
	  1850, 280 },
	{ "AMD EPYC 9V33X 96-Core Processor", AMD(25, 17, 2), "amd", "zen4", "genoa_x",
	  96, 2550, 0 },
	{ "AMD EPYC 9V74 80-Core Processor", AMD(25, 17, 1), "amd", "zen4", "genoa", 80,
	  2600, 0 },
	{ "AMD EPYC 7J13 64-Core Processor", AMD(25, 1, 1), "amd", "zen3", "milan", 64, 0,
	  0 },
	{ "AMD EPYC 7K62 48-Core Processor", AMD(23, 49, 0), "amd", "zen2", "rome", 0, 0,
	  0 },
	{ "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", INTEL(6, 85, 7), "intel",
	  "cascade_lake", "cascade_lake_sp", 24, 2500, 210 },
	{ "Intel(R) Xeon(R) Platinum 8124M CPU @ 3.00GHz", INTEL(6, 85, 4), "intel",
	  "skylake", "skylake_sp", 18, 3000, 240 },
	{ "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", INTEL(6, 85, 4), "intel",
	  "skylake", "skylake_sp", 24, 2500, 240 },
	{ "Intel(R) Xeon(R) Platinum 8252C CPU @ 3.80GHz", INTEL(6, 85, 7), "intel",
	  "cascade_lake", "cascade_lake_sp", 12, 3800, 150 },
	{ "Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz", INTEL(6, 85, 7), "intel",
	  "cascade_lake", "cascade_lake_sp", 24, 3000, 240 },
	{ "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", INTEL(6, 106, 6), "intel",
	  "ice_lake", "ice_lake_sp", 32, 2900, 300 },
	{ "Intel(R) Xeon(R) Platinum 8488C", INTEL(6, 143, 8), "intel", "sapphire_rapids",
	  "sapphire_rapids", 48, 2400, 0 },
	{ "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", INTEL(6, 106, 6), "intel",
	  "ice_lake", "ice_lake_sp", 32, 2800, 0 },
	{ "Intel(R) Xeon(R) Platinum 8272CL CPU @ 2.60GHz", INTEL(6, 85, 7), "intel",
	  "cascade_lake", "cascade_lake_sp", 26, 2600, 195 },
	{ "Intel(R) Xeon(R) Platinum 8171M CPU @ 2.60GHz", INTEL(6, 85, 4), "intel",
	  "skylake", "skylake_sp", 26, 2600, 0 },
	{ "Intel(R) Xeon(R) Platinum 8473C", INTEL(6, 143, 8), "intel", "sapphire_rapids",
	  "sapphire_rapids", 52, 2100, 0 },
	{ "INTEL(R) XEON(R) PLATINUM 8573C", INTEL(6, 207, 2), "intel", "emerald_rapids",
	  "emerald_rapids", 0, 0, 0 },
	{ "Intel(R) Xeon(R) 6975P-C", INTEL(6, 173, 1), "intel", "granite_rapids",
	  "granite_rapids", 0, 0, 0 },
	{ "Intel(R) Xeon(R) Platinum 8269CY CPU @ 2.50GHz", INTEL(6, 85, 7), "intel",
	  "cascade_lake", "cascade_lake_sp", 26, 2500, 205 },
	/* Named like Ice Lake: only the signature shows Cooper Lake. */
	{ "Intel(R) Xeon(R) Platinum 8369 CPU @ 3.30GHz", INTEL(6, 85, 11), "intel",
	  "cooper_lake", "cooper_lake", 0, 3300, 0 },
	{ "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", INTEL(6, 79, 1), "intel",
	  "broadwell", "broadwell_ep", 18, 2300, 145 },
	{ "Intel(R) Xeon(R) CPU E5-2676 v3 @ 2.40GHz", INTEL(6, 63, 2), "intel",
	  "haswell", "haswell_ep", 12, 2400, 120 },
	{ "Intel(R) Xeon(R) CPU E5-2673 v4 @ 2.30GHz", INTEL(6, 79, 1), "intel",
	  "broadwell", "broadwell_ep", 20, 2300, 135 },
	/* Google prints no model. */
	{ "Intel(R) Xeon(R) CPU @ 2.20GHz", INTEL(6, 79, 0), "intel", "broadwell",
	  "broadwell_ep", 0, 2200, 0 },
	{ "Intel(R) Xeon(R) CPU @ 2.00GHz", INTEL(6, 85, 3), "intel", "skylake",
	  "skylake_sp", 0, 2000, 0 },
	{ "Intel(R) Xeon(R) CPU @ 2.80GHz", INTEL(6, 85, 7), "intel", "cascade_lake",
	  "cascade_lake_sp", 0, 2800, 0 },
	{ "Intel(R) Xeon(R) CPU @ 2.60GHz", INTEL(6, 106, 6), "intel", "ice_lake",
	  "ice_lake_sp", 0, 2600, 0 },
	{ "Intel(R) Xeon(R) CPU @ 2.20GHz", NO_SIGNATURE, "intel", "", "", 0, 2200, 0 },
	{ "Intel(R) Xeon(R) Processor @ 2.10GHz", NO_SIGNATURE, "intel", "", "", 0, 2100,
	  0 },
	/* arm64 prints MIDR_EL1 alone; SMBIOS has the product. */
	{ "", ARM(0x41, 0xd08), "arm", "cortex_a72", "", 0, 0, 0 },
	{ "", ARM(0x41, 0xd0c), "arm", "neoverse_n1", "", 0, 0, 0 },
	{ "", ARM(0x41, 0xd40), "arm", "neoverse_v1", "", 0, 0, 0 },
	{ "", ARM(0x41, 0xd4f), "arm", "neoverse_v2", "", 0, 0, 0 },
	{ "", ARM(0xc0, 0xac3), "ampere", "ampere_1", "ampere_one", 0, 0, 0 },
	{ "AWS Graviton2", ARM(0x41, 0xd0c), "amazon", "neoverse_n1", "graviton2", 64,
	  2500, 0 },
	{ "AWS Graviton3", ARM(0x41, 0xd40), "amazon", "neoverse_v1", "graviton3", 64,
	  2600, 0 },
	{ "Ampere(R) Altra(R) Processor Q80-30 @ 3.0GHz", ARM(0x41, 0xd0c), "ampere",
	  "neoverse_n1", "altra", 80, 3000, 210 },
	{ "Cobalt 100", ARM(0x41, 0xd49), "microsoft", "neoverse_n2", "cobalt_100", 0, 0,
	  0 },
};

static void processors_of_clouds_are_known(void **state)
{
	(void)state;
	assert_true(TW_COUNT(cloud) >= 40);
	for (size_t i = 0; i < TW_COUNT(cloud); i++)
		expect(&cloud[i]);
}

/* Hypervisors' own models: the servers of the architecture that they present. */
static const struct expected virtual[] = {
	{ "QEMU Virtual CPU version 2.5+", INTEL(6, 6, 3), "intel", "", "", 0, 0, 0 },
	{ "QEMU Virtual CPU version 2.5+", AMD(15, 107, 1), "amd", "", "", 0, 0, 0 },
	{ "Common KVM processor", INTEL(15, 6, 1), "intel", "", "", 0, 0, 0 },
	{ "Intel Xeon Processor (Skylake, IBRS)", INTEL(6, 85, 4), "intel", "skylake",
	  "skylake_sp", 0, 0, 0 },
	{ "Intel Xeon Processor (Cascadelake)", INTEL(6, 85, 6), "intel", "cascade_lake",
	  "cascade_lake_sp", 0, 0, 0 },
	{ "Intel Xeon Processor (Icelake)", INTEL(6, 106, 0), "intel", "ice_lake",
	  "ice_lake_sp", 0, 0, 0 },
	{ "Intel Core Processor (Haswell, no TSX)", INTEL(6, 60, 1), "intel", "haswell",
	  "haswell_ep", 0, 0, 0 },
	{ "Intel Xeon E312xx (Sandy Bridge, IBRS update)", INTEL(6, 42, 1), "intel",
	  "sandy_bridge", "sandy_bridge_ep", 0, 0, 0 },
	{ "AMD EPYC-Rome Processor", AMD(23, 49, 0), "amd", "zen2", "rome", 0, 0, 0 },
	{ "AMD EPYC-Milan Processor", AMD(25, 1, 1), "amd", "zen3", "milan", 0, 0, 0 },
	{ "AMD EPYC-Milan-v2 Processor", AMD(25, 1, 1), "amd", "zen3", "milan", 0, 0, 0 },
	{ "AMD EPYC-Rome-v4 Processor (no XSAVES)", NO_SIGNATURE, "amd", "zen2", "rome",
	  0, 0, 0 },
	{ "AMD EPYC-v4 Processor", AMD(23, 1, 2), "amd", "zen", "naples", 0, 0, 0 },
	{ "amd_epyc_genoa_v2", NO_SIGNATURE, "amd", "zen4", "genoa", 0, 0, 0 },
	{ "AMD EPYC Processor (with IBPB)", AMD(23, 1, 2), "amd", "zen", "naples", 0, 0,
	  0 },
};

static void a_virtual_processor_is_known_as_far_as_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(virtual); i++) {
		struct tw_cpu_identity id;

		expect(&virtual[i]);
		identify(virtual[i].brand, &virtual[i].sig, &id);
		/* The host may be a newer one. */
		assert_true(id.how[TW_CPU_ARCHITECTURE] <= TW_CPU_LIKELY);
		assert_int_equal(id.how[TW_CPU_TDP], TW_CPU_UNKNOWN);
		assert_int_equal(id.how[TW_CPU_LOW_POWER], TW_CPU_UNKNOWN);
	}
}

static const struct expected other[] = {
	{ "Intel Xeon Platinum 8380 2.30GHz", NO_SIGNATURE, "intel", "ice_lake",
	  "ice_lake_sp", 40, 2300, 270 },
	{ "AMD EPYC 7763 2.45GHz", NO_SIGNATURE, "amd", "zen3", "milan", 64, 2450, 280 },
	{ "AMD EPYC 7601 2.20 GHz, Dell SKU [338-BNCG]", NO_SIGNATURE, "amd", "zen",
	  "naples", 32, 2200, 180 },
	{ "AMD EPYC 9965 192-Core Processor", NO_SIGNATURE, "amd", "zen5c", "turin_dense",
	  192, 2250, 500 },
	{ "AMD EPYC 9754 128-Core Processor", NO_SIGNATURE, "amd", "zen4c", "bergamo",
	  128, 2250, 360 },
	{ "AMD EPYC 8324P 32-Core Processor", NO_SIGNATURE, "amd", "zen4c", "siena", 32,
	  2650, 180 },
	{ "AMD EPYC 4564P 16-Core Processor", NO_SIGNATURE, "amd", "zen4",
	  "raphael_server", 16, 4500, 170 },
	{ "AMD EPYC 74F3 24-Core Processor", NO_SIGNATURE, "amd", "zen3", "milan", 24,
	  3200, 240 },
	{ "Intel Xeon 6980P", NO_SIGNATURE, "intel", "granite_rapids", "granite_rapids",
	  128, 2000, 500 },
	{ "Intel(R) Xeon(R) 6780E", NO_SIGNATURE, "intel", "sierra_forest",
	  "sierra_forest", 144, 2200, 330 },
	{ "INTEL(R) XEON(R) PLATINUM 8592+", NO_SIGNATURE, "intel", "emerald_rapids",
	  "emerald_rapids", 64, 1900, 350 },
	{ "Intel(R) Xeon(R) CPU Max 9480", NO_SIGNATURE, "intel", "sapphire_rapids",
	  "sapphire_rapids_hbm", 56, 1900, 350 },
	{ "Intel Xeon Platinum 8380HL 2.90 GHz", NO_SIGNATURE, "intel", "cooper_lake",
	  "cooper_lake", 28, 2900, 250 },
	{ "Intel E3-1260L v5", NO_SIGNATURE, "intel", "skylake", "skylake_client", 4,
	  2900, 45 },
	{ "Quad-Core AMD Opteron(r) Processor 8381 HE", NO_SIGNATURE, "amd", "k10",
	  "shanghai", 4, 2500, 79 },
	{ "AMD Opteron(tm) Processor 6376", NO_SIGNATURE, "amd", "piledriver",
	  "abu_dhabi", 16, 2300, 115 },
	{ "Intel Xeon 3.8GHz", NO_SIGNATURE, "intel", "netburst", "nocona", 0, 3800, 0 },
	{ "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", NO_SIGNATURE, "intel",
	  "coffee_lake", "coffee_lake", 6, 3700, 95 },
	{ "AMD Ryzen 7 5800X 8-Core Processor", NO_SIGNATURE, "amd", "zen3", "vermeer", 8,
	  3800, 105 },
	/* Names as requests have them. */
	{ "Intel Xeon Gold 6780E", NO_SIGNATURE, "intel", "sierra_forest",
	  "sierra_forest", 144, 2200, 330 },
	{ "Intel Xeon 8592+", NO_SIGNATURE, "intel", "emerald_rapids", "emerald_rapids",
	  64, 1900, 350 },
	{ "Intel Xeon Gold 6548Y", NO_SIGNATURE, "intel", "emerald_rapids",
	  "emerald_rapids", 32, 2500, 250 },
	{ "Intel Xeon E E-2488", NO_SIGNATURE, "intel", "raptor_lake", "raptor_lake", 8,
	  3200, 95 },
	{ "Intel Xeon 6 6787P", NO_SIGNATURE, "intel", "granite_rapids", "granite_rapids",
	  86, 2000, 350 },
	{ "Intel Core Ultra 255H", NO_SIGNATURE, "intel", "arrow_lake", "arrow_lake", 0,
	  0, 0 },
	{ "Intel(R) Pentium(R) D CPU 3.00GHz", NO_SIGNATURE, "intel", "netburst", "", 0,
	  3000, 0 },
	{ "amd_epyc_9654_96_core", NO_SIGNATURE, "amd", "zen4", "genoa", 96, 2400, 360 },
	{ "intel_xeon_e5_2686v4", NO_SIGNATURE, "intel", "broadwell", "broadwell_ep", 18,
	  2300, 145 },
	/* Series whose numbers are of two generations. */
	{ "Intel(R) Celeron(R) CPU N3350 @ 1.10GHz", NO_SIGNATURE, "intel", "goldmont",
	  "apollo_lake", 2, 1100, 6 },
	{ "Intel(R) Celeron(R) CPU N3060 @ 1.60GHz", NO_SIGNATURE, "intel", "silvermont",
	  "braswell", 2, 1600, 6 },
	{ "Intel(R) Celeron(R) CPU J3455 @ 1.50GHz", NO_SIGNATURE, "intel", "goldmont",
	  "apollo_lake", 4, 1500, 10 },
	{ "Intel(R) Celeron(R) CPU J3160 @ 1.60GHz", NO_SIGNATURE, "intel", "silvermont",
	  "braswell", 4, 1600, 6 },
	{ "Intel(R) Celeron(R) N4505 @ 2.00GHz", NO_SIGNATURE, "intel", "tremont",
	  "jasper_lake", 2, 2000, 10 },
	{ "Intel(R) Celeron(R) CPU G3930 @ 2.90GHz", NO_SIGNATURE, "intel", "kaby_lake",
	  "kaby_lake", 2, 2900, 51 },
	{ "Intel(R) Pentium(R) CPU G4500 @ 3.50GHz", NO_SIGNATURE, "intel", "skylake",
	  "skylake_client", 2, 3500, 51 },
	{ "13th Gen Intel(R) Core(TM) i7-1370PE", NO_SIGNATURE, "intel", "raptor_lake",
	  "raptor_lake", 14, 1900, 28 },
	{ "AMD Ryzen Embedded V2748 with Radeon Graphics", NO_SIGNATURE, "amd", "zen2",
	  "renoir", 0, 0, 0 },
	/* Desktops, laptops and boards. */
	{ "Intel(R) Core(TM) Ultra 9 285K", NO_SIGNATURE, "intel", "arrow_lake",
	  "arrow_lake", 24, 3700, 125 },
	{ "Intel(R) N150", NO_SIGNATURE, "intel", "gracemont", "gracemont", 4, 0, 6 },
	{ "Intel(R) Celeron(R) J4125 CPU @ 2.00GHz", NO_SIGNATURE, "intel", "goldmont",
	  "gemini_lake", 4, 2000, 10 },
	{ "Intel Atom(R) C5320", NO_SIGNATURE, "intel", "tremont", "parker_ridge", 8,
	  2400, 41 },
	{ "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", NO_SIGNATURE, "amd", "zen5",
	  "strix_halo", 16, 3000, 55 },
	{ "AMD Ryzen 7 7730U with Radeon Graphics", NO_SIGNATURE, "amd", "zen3",
	  "cezanne", 8, 2000, 15 },
	{ "Intel(R) Xeon(R) w9-3495X", NO_SIGNATURE, "intel", "sapphire_rapids",
	  "sapphire_rapids_w", 56, 1900, 350 },
	{ "Hygon C86-4G (OPN:7490)", NO_SIGNATURE, "hygon", "zen", "c86_4g", 0, 0, 0 },
	{ "", ARM(0x6d, 0xd49), "microsoft", "neoverse_n2", "cobalt_100", 0, 0, 0 },
	/* A product that no table has. */
	{ "AMD EPYC 9995Z 256-Core Processor", AMD(26, 99, 0), "amd", "zen5", "turin", 0,
	  0, 0 },
	{ "Mystery 9000", NO_SIGNATURE, "", "", "", 0, 0, 0 },
	{ "", NO_SIGNATURE, "", "", "", 0, 0, 0 },
};

static void processors_are_known_by_any_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(other); i++)
		expect(&other[i]);
}

/* ---- the rules for names ---- */

#define RULES_MAX 1024

struct name_rule {
	char pattern[96], generation[64];
};

static size_t read_rules(struct name_rule rule[RULES_MAX])
{
	FILE *f = fopen("profiler/data/names.csv", "re");
	char line[256];
	size_t count = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		struct name_rule *r = &rule[count];

		if (*line == '#' || strncmp(line, "pattern,", 8) == 0)
			continue;
		assert_true(count < RULES_MAX);
		assert_int_equal(
			sscanf(line, "%95[^,],%63[a-z0-9_]", r->pattern, r->generation),
			2);
		count++;
	}
	fclose(f);
	return count;
}

/* Whether a name that the pattern matches has this generation. */
static bool is_reached(const struct name_rule *r, char digit, char any)
{
	const struct tw_cpu_generation *g;
	char name[96];
	size_t n = 0;

	for (const char *c = r->pattern; *c != '\0'; c++)
		if (*c != '*')
			name[n++] = *c == '#' ? digit : *c == '?' ? any : *c;
	name[n] = '\0';
	g = tw_cpu_generation_of_name(name);
	return g != NULL && strcmp(g->key, r->generation) == 0;
}

static void each_rule_for_names_is_reached(void **state)
{
	static struct name_rule rule[RULES_MAX];
	const size_t count = read_rules(rule);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		bool reached = false;

		for (char digit = '0'; digit <= '9'; digit++)
			reached = reached || is_reached(&rule[i], digit, digit) ||
				  is_reached(&rule[i], digit, 'x');
		if (!reached)
			fail_msg("no name is of %s,%s", rule[i].pattern,
				 rule[i].generation);
		for (size_t k = 0; k < i; k++)
			if (strcmp(rule[k].pattern, rule[i].pattern) == 0)
				fail_msg("%s is there twice", rule[i].pattern);
	}
}

static void a_low_power_suffix_is_told_from_a_large_memory_one(void **state)
{
	static const struct {
		const char *brand, *want;
		bool known;
	} cases[] = {
		{ "Intel Xeon L5430", "l", true },
		{ "Intel Xeon LV 5148", "", false },
		{ "Intel Xeon E5-2650L", "l", true },
		{ "Intel Xeon E3-1265LV3", "l", true },
		{ "Intel Xeon Platinum 8280L", "", true },
		{ "Intel Xeon E5-2660 v2", "", true },
		{ "AMD Opteron 2216HE", "he", true },
		{ "AMD Opteron 4164 EE", "ee", true },
		{ "AMD Opteron 6276", "", true },
		{ "Intel(R) Core(TM) i5-4570T CPU @ 2.90GHz", "t", true },
		{ "Mystery 9000", "", false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_cpu_identity id;

		identify(cases[i].brand, NULL, &id);
		assert_string_equal(id.low_power, cases[i].want);
		assert_int_equal(id.how[TW_CPU_LOW_POWER] != TW_CPU_UNKNOWN,
				 cases[i].known);
	}
}

static void evidence_names_the_source_of_each_field(void **state)
{
	const struct tw_cpu_signature broadwell = INTEL(6, 79, 0);
	struct tw_cpu_identity id;

	(void)state;
	identify("Intel(R) Xeon(R) CPU @ 2.20GHz", &broadwell, &id);
	assert_int_equal(id.how[TW_CPU_ARCHITECTURE], TW_CPU_BY_SIGNATURE);
	assert_int_equal(id.how[TW_CPU_GENERATION], TW_CPU_LIKELY);
	assert_int_equal(id.how[TW_CPU_NOMINAL_MHZ], TW_CPU_BY_NAME);
	assert_int_equal(id.how[TW_CPU_CORES], TW_CPU_UNKNOWN);
	identify("AMD EPYC 7763 64-Core Processor", NULL, &id);
	assert_int_equal(id.how[TW_CPU_GENERATION], TW_CPU_BY_NAME);
	assert_int_equal(id.how[TW_CPU_TDP], TW_CPU_BY_TABLE);
	assert_string_equal(tw_cpu_evidence_name(id.how[TW_CPU_TDP]), "table");
	/* The highest frequency is no nominal one. */
	identify("Intel Xeon E5-2660 2.20 GHz (Intel Turbo Boost Technology up to 3.00 "
		 "GHz)",
		 NULL, &id);
	assert_int_equal(id.nominal_mhz, 2200);
	assert_int_equal(id.turbo_mhz, 3000);
}

/* All fields as one text: the name, vendor, architecture, generation, memory, nm, nominal
 * and highest MHz, cores, threads, W, low power, and a letter for the evidence of each
 * field. */
static const struct {
	const char *brand;
	struct tw_cpu_signature sig;
	const char *want;
} whole[] = {
	{ "AMD EPYC 7763 64-Core Processor", NO_SIGNATURE,
	  "amd_epyc_7763 amd zen3 milan ddr4 7 2450 3500 64 128 280  nnnnnnttttt" },
	{ "Intel Xeon E5-2660 2.20 GHz (Intel Turbo Boost Technology up to 3.00 GHz)",
	  NO_SIGNATURE,
	  "intel_xeon_e5_2660 intel sandy_bridge sandy_bridge_ep ddr3 32 2200 3000 8 16 "
	  "95  nnnnnnnnttt" },
	{ "to 3.0GHz", NO_SIGNATURE, "to     0 0 3000 0 0 0  uuuuuuunuuu" },
	{ "Mystery 1.2345GHz", NO_SIGNATURE, "mystery     0 1234 0 0 0 0  uuuuuunuuuu" },
	{ "Mystery 10GHz", NO_SIGNATURE, "mystery     0 10000 0 0 0 0  uuuuuunuuuu" },
	{ "Mystery 10.001GHz", NO_SIGNATURE, "mystery     0 0 0 0 0 0  uuuuuuuuuuu" },
	{ "Mystery GHz 2.5GHZ 3.5GHz", NO_SIGNATURE,
	  "mystery     0 2500 0 0 0 0  uuuuuunuuuu" },
	{ "amd_epyc_genoa", NO_SIGNATURE,
	  "amd_epyc_genoa amd zen4 genoa ddr5 5 0 0 0 0 0  llllluuuuuu" },
	{ "intel_xeon_ice_lake_sp", NO_SIGNATURE,
	  "intel_xeon_ice_lake_sp intel ice_lake ice_lake_sp ddr4 10 0 0 0 0 0  "
	  "llllluuuuuu" },
	{ "amd_ice_lake_sp", NO_SIGNATURE,
	  "amd_ice_lake_sp amd    0 0 0 0 0 0  nuuuuuuuuuu" },
	{ "amd_zen3", NO_SIGNATURE, "amd_zen3 amd    0 0 0 0 0 0  nuuuuuuuuuu" },
	{ "AMD Opteron 2216 SE", NO_SIGNATURE,
	  "amd_opteron_2216_se amd k8 santa_rosa ddr2 90 0 0 0 0 0  nnnnnnuuuuu" },
	{ "AMD Opteron 2216SE", NO_SIGNATURE,
	  "amd_opteron_2216_se amd k8 santa_rosa ddr2 90 0 0 0 0 0  nnnnnnuuuuu" },
	{ "Dual-Core AMD Opteron(tm) Processor 2216SE", NO_SIGNATURE,
	  "amd_opteron_2216_se amd k8 santa_rosa ddr2 90 0 0 0 0 0  nnnnnnuuuuu" },
	{ "AMD Opteron 2216EE", NO_SIGNATURE,
	  "amd_opteron_2216_ee amd k8 santa_rosa ddr2 90 0 0 0 0 0 ee nnnnnnuuuuu" },
	{ "AMD Opteron 2216XX", NO_SIGNATURE,
	  "amd_opteron_2216xx amd k8 santa_rosa ddr2 90 0 0 0 0 0  nnnnnnuuuuu" },
	{ "AMD Opteron 6276 HE", NO_SIGNATURE,
	  "amd_opteron_6276_he amd bulldozer interlagos ddr3 32 0 0 0 0 0 he "
	  "nnnnnnuuuuu" },
	{ "AMD Opteron 6276_ee", NO_SIGNATURE,
	  "amd_opteron_6276_ee amd bulldozer interlagos ddr3 32 0 0 0 0 0 ee "
	  "nnnnnnuuuuu" },
	{ "AMD Ryzen 7 5700GE with Radeon Graphics", NO_SIGNATURE,
	  "amd_ryzen_7_5700ge amd zen3 cezanne  7 3200 4600 8 16 35 t nnnnunttttt" },
	{ "AMD Ryzen 7 5700G with Radeon Graphics", NO_SIGNATURE,
	  "amd_ryzen_7_5700g amd zen3 cezanne  7 3800 4600 8 16 65  nnnnunttttt" },
	{ "Intel(R) Core(TM) i7-8700TE CPU @ 2.40GHz", NO_SIGNATURE,
	  "intel_core_i7_8700te intel coffee_lake coffee_lake ddr4 14 2400 0 0 0 0 t "
	  "nnnnnnnuuuu" },
	{ "Intel(R) Core(TM) i5-6500 CPU @ 3.20GHz", NO_SIGNATURE,
	  "intel_core_i5_6500 intel skylake skylake_client ddr4 14 3200 3600 4 0 65  "
	  "nnnnnnnttut" },
	{ "12th Gen Intel(R) Core(TM) i9-12900K", NO_SIGNATURE,
	  "intel_core_i9_12900k intel alder_lake alder_lake  10 3200 5200 16 24 125  "
	  "nnnnunttttt" },
	{ "th Gen Intel(R) Core(TM) i9-12900K", NO_SIGNATURE,
	  "th_gen_intel_core_i9_12900k     0 0 0 0 0 0  uuuuuuuuuuu" },
	{ "Intel Xeon E7-8867L", NO_SIGNATURE,
	  "intel_xeon_e7_8867l intel westmere westmere_ex ddr3 32 2130 2530 10 20 105 l "
	  "nnnnnnttttt" },
	{ "Intel Xeon E7-8870", NO_SIGNATURE,
	  "intel_xeon_e7_8870 intel westmere westmere_ex ddr3 32 2400 2800 10 20 130  "
	  "nnnnnnttttt" },
	{ "Intel Xeon LX5518", NO_SIGNATURE,
	  "intel_xeon_lx5518 intel    0 0 0 0 0 0  nuuuuuuuuuu" },
	{ "Intel(R) Xeon(TM) CPU 3.00GHz", NO_SIGNATURE,
	  "intel_xeon intel netburst nocona ddr2 90 3000 0 0 0 0  lllllunuuuu" },
	{ "Intel(R) Xeon(TM) CPU 3.00GHz  ", NO_SIGNATURE,
	  "intel_xeon intel netburst nocona ddr2 90 3000 0 0 0 0  lllllunuuuu" },
	{ "  Intel(R)  Xeon(TM) CPU 3.00GHz", NO_SIGNATURE,
	  "intel_xeon intel netburst nocona ddr2 90 3000 0 0 0 0  lllllunuuuu" },
	{ "Intel Xeon Processor (Icelake)", INTEL(6, 106, 0),
	  "intel_xeon intel ice_lake ice_lake_sp ddr4 10 0 0 0 0 0  llllluuuuuu" },
	{ "Intel Xeon Processor (Icelake, IBRS)", NO_SIGNATURE,
	  "intel_xeon intel ice_lake ice_lake_sp ddr4 10 0 0 0 0 0  llllluuuuuu" },
	{ "AMD EPYC-Milan Processor", NO_SIGNATURE,
	  "amd_epyc_milan amd zen3 milan ddr4 7 0 0 0 0 0  llllluuuuuu" },
	{ "Zhaoxin KX", HYGON(99, 99, 9),
	  "zhaoxin_kx hygon    0 0 0 0 0 0  suuuuuuuuuu" },
	{ "Hygon C86 7285 32-core Processor", NO_SIGNATURE,
	  "hygon_c86_7285 hygon zen dhyana ddr4 14 0 0 0 0 0  nnnnnnuuuuu" },
	{ "POWER9, altivec supported", NO_SIGNATURE,
	  "power9_altivec_supported ibm power9 power9 ddr4 14 0 0 0 0 0  nnnnnnuuuuu" },
	{ "Ampere(R) Altra(R) Max Processor M128-30", NO_SIGNATURE,
	  "ampere_altra_max_m128_30 ampere neoverse_n1 altra_max ddr4 7 3000 3000 128 "
	  "128 250  nnnnnnttttt" },
	{ "Intel something", NO_SIGNATURE,
	  "intel_something intel    0 0 0 0 0 0  nuuuuuuuuuu" },
	{ "Intel Xeon Bronze 3204", NO_SIGNATURE,
	  "intel_xeon_bronze_3204 intel cascade_lake cascade_lake_sp ddr4 14 1900 1900 6 "
	  "6 85  nnnnnnttttt" },
	{ "Intel Xeon 3204", NO_SIGNATURE,
	  "intel_xeon_bronze_3204 intel cascade_lake cascade_lake_sp ddr4 14 1900 1900 6 "
	  "6 85  nnnnnnttttt" },
	{ "Intel Xeon Silver 3204", NO_SIGNATURE,
	  "intel_xeon_bronze_3204 intel cascade_lake cascade_lake_sp ddr4 14 1900 1900 6 "
	  "6 85  nnnnnnttttt" },
	{ "Intel Xeon Platinum Gold 6548Y", NO_SIGNATURE,
	  "intel_xeon_gold_6548y+ intel emerald_rapids emerald_rapids ddr5 10 2500 4100 "
	  "32 64 250  nnnnnnttttt" },
	{ "Intel Xeon 8592", NO_SIGNATURE,
	  "intel_xeon_platinum_8592+ intel emerald_rapids emerald_rapids ddr5 10 1900 "
	  "3900 64 128 350  nnnnnnttttt" },
	{ "Intel Xeon Gold 9999", NO_SIGNATURE,
	  "intel_xeon_gold_9999 intel    0 0 0 0 0 0  nuuuuuuuuuu" },
	{ "Intel Xeon Platinum 8380", INTEL(6, 106, 6),
	  "intel_xeon_platinum_8380 intel ice_lake ice_lake_sp ddr4 10 2300 3400 40 80 "
	  "270  nnnnnnttttt" },
	{ "Intel Xeon Platinum 8999", INTEL(6, 143, 8),
	  "intel_xeon_platinum_8999 intel sapphire_rapids sapphire_rapids ddr5 10 0 0 0 "
	  "0 0  sslsluuuuuu" },
	{ "AMD EPYC 7B99", AMD(26, 2, 1),
	  "amd_epyc_7b99 amd zen5 turin ddr5 4 0 0 0 0 0  sssssuuuuuu" },
	{ "Intel(R) Xeon(R) E5-2650L v3 @ 1.80GHz", NO_SIGNATURE,
	  "intel_xeon_e5_2650lv3 intel haswell haswell_ep ddr4 22 1800 2500 12 24 65 l "
	  "nnnnnnntttt" },
	{ "Intel Xeon E5-2650v2", NO_SIGNATURE,
	  "intel_xeon_e5_2650v2 intel ivy_bridge ivy_bridge_ep ddr3 22 2600 3400 8 16 95 "
	  " nnnnnnttttt" },
	{ "Mystery 3.9GHz", NO_SIGNATURE, "mystery     0 3900 0 0 0 0  uuuuuunuuuu" },
	{ "Mystery @2.5  GHz", NO_SIGNATURE, "mystery     0 2500 0 0 0 0  uuuuuunuuuu" },
	{ "Intel(R)Xeon(TM)CPU 3.00GHz", NO_SIGNATURE,
	  "intelxeoncpu intel    0 3000 0 0 0 0  nuuuuunuuuu" },
	{ "Intel(R) Xeon(TM) CPU 3.00GHz (c)", NO_SIGNATURE,
	  "intel_xeon intel netburst nocona ddr2 90 3000 0 0 0 0  lllllunuuuu" },
	{ "AMD Z 1.5GHz", NO_SIGNATURE, "amd_z amd    0 1500 0 0 0 0  nuuuuunuuuu" },
	{ "Intel Xeon E5-2650 @ 2.00GHz", NO_SIGNATURE,
	  "intel_xeon_e5_2650 intel sandy_bridge sandy_bridge_ep ddr3 32 2000 2800 8 16 "
	  "95  nnnnnnntttt" },
	{ "Intel Xeon L5430", NO_SIGNATURE,
	  "intel_xeon_l5430 intel penryn harpertown fbdimm 45 2666 0 4 4 50 l "
	  "nnnnnntuttt" },
	{ "Intel Xeon X5430", NO_SIGNATURE,
	  "intel_xeon_x5430 intel penryn harpertown fbdimm 45 0 0 0 0 0  nnnnnnuuuuu" },
};

static void expect_whole(const char *brand, const struct tw_cpu_signature *sig,
			 const char *want)
{
	struct tw_cpu_identity id;
	char how[TW_CPU_FIELDS + 1] = "", text[512];

	identify(brand, sig, &id);
	for (size_t i = 0; i < TW_CPU_FIELDS; i++)
		how[i] = tw_cpu_evidence_name(id.how[i])[0];
	snprintf(text, sizeof(text), "%s %s %s %s %s %u %u %u %u %u %u %s %s",
		 id.processor, id.vendor, id.architecture, id.generation, id.memory,
		 id.process_nm, id.nominal_mhz, id.turbo_mhz, id.cores, id.threads,
		 id.tdp_w, id.low_power, how);
	if (strcmp(text, want) != 0)
		fail_msg("'%s' is '%s', not '%s'", brand, text, want);
}

static void every_field_has_its_value_and_evidence(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(whole); i++)
		expect_whole(whole[i].brand, &whole[i].sig, whole[i].want);
}

static void a_long_brand_is_cut(void **state)
{
	char brand[600];

	(void)state;
	for (size_t len = 250; len < 260; len++) {
		struct tw_cpu_identity id;

		memset(brand, '_', sizeof(brand));
		memcpy(brand, "Intel Xeon", 10);
		memcpy(brand + len - 6, "3.0GHz", 7);
		identify(brand, NULL, &id);
		/* 255 bytes are read. */
		assert_int_equal(id.nominal_mhz, len <= 255 ? 3000 : 0);
	}
}

/* A name that fills its room gets no blank before its suffix. */
static void a_long_name_stays_as_it_is(void **state)
{
	static const char opteron[] = "amd_opteron_";

	(void)state;
	for (size_t len = TW_SPEC_TEXT - 3; len < TW_SPEC_TEXT; len++) {
		char brand[TW_SPEC_TEXT + 1] = "AMD Opteron ", want[TW_SPEC_TEXT + 1];
		const size_t digits = len - strlen(opteron) - 2;
		struct tw_cpu_identity id;

		memset(brand + strlen(opteron), '7', digits);
		strcpy(brand + strlen(opteron) + digits, "HE");
		snprintf(want, sizeof(want), "%s%.*s%she", opteron, (int)digits,
			 brand + strlen(opteron), len + 1 < TW_SPEC_TEXT ? "_" : "");
		identify(brand, NULL, &id);
		assert_string_equal(id.processor, want);
	}
	/* Nor a vendor in front that does not fit. */
	for (size_t len = TW_SPEC_TEXT - 2; len <= TW_SPEC_TEXT; len++) {
		char brand[TW_SPEC_TEXT + 1] = "ryzen_", want[TW_SPEC_TEXT + 5];
		struct tw_cpu_identity id;

		memset(brand + strlen("ryzen_"), 'x', len - strlen("amd_ryzen_"));
		snprintf(want, sizeof(want), "%s%s", len < TW_SPEC_TEXT ? "amd_" : "",
			 brand);
		identify(brand, NULL, &id);
		assert_string_equal(id.processor, want);
	}
}

static void another_kind_of_processor_is_no_xeon(void **state)
{
	struct tw_cpu_identity id;

	(void)state;
	identify("Intel(R) Xeon(R) 8592+", NULL, &id);
	assert_string_equal(id.processor, "intel_xeon_platinum_8592+");
	identify("Intel(R) Core(TM) 8592+", NULL, &id);
	assert_string_equal(id.processor, "intel_core_8592+");
}

static void evidence_has_names(void **state)
{
	(void)state;
	assert_string_equal(tw_cpu_evidence_name(TW_CPU_BY_NAME), "name");
	assert_string_equal(tw_cpu_evidence_name(TW_CPU_BY_SIGNATURE), "signature");
	assert_string_equal(tw_cpu_evidence_name(TW_CPU_LIKELY), "likely");
	assert_string_equal(
		tw_cpu_evidence_name((enum tw_cpu_evidence)(TW_CPU_BY_TABLE + 1)),
		"unknown");
}

static void tables_are_sorted_and_complete(void **state)
{
	const struct tw_cpu_product *p, *last = NULL;
	const char *generation;
	size_t products = 0;

	(void)state;
	for (size_t i = 0; (p = tw_cpu_product_at(i)) != NULL;
	     i++, last = p, products++) {
		struct tw_cpu_identity id;

		if (last != NULL && strcmp(last->processor, p->processor) >= 0)
			fail_msg("'%s' is not behind '%s'", p->processor,
				 last->processor);
		/* Each name is canonical, and has a generation. */
		identify(p->processor, NULL, &id);
		if (strcmp(id.processor, p->processor) != 0 || id.architecture[0] == '\0')
			fail_msg("'%s' is '%s', '%s'", p->processor, id.processor,
				 id.architecture);
		if (p->cores > 512 || (p->threads != 0 && p->threads < p->cores) ||
		    (p->turbo_mhz != 0 && p->turbo_mhz < p->nominal_mhz) ||
		    p->tdp_w > 600)
			fail_msg("'%s' has impossible figures", p->processor);
	}
	assert_true(products > 1000);
	for (size_t i = 0; tw_cpu_pattern_at(i, &generation) != NULL; i++)
		if (tw_cpu_generation_find(generation) == NULL)
			fail_msg("no generation '%s'", generation);
	for (size_t i = 0; tw_cpu_generation_at(i) != NULL; i++)
		assert_ptr_equal(tw_cpu_generation_find(tw_cpu_generation_at(i)->key),
				 tw_cpu_generation_at(i));
	for (size_t i = 0; tw_cpu_generation_at(i) != NULL; i++) {
		const struct tw_cpu_generation *g = tw_cpu_generation_at(i);

		/* A chain of ancestors has an end. */
		for (size_t n = 0; g->after != NULL; n++) {
			const char *after = g->after;

			g = tw_cpu_generation_find(after);
			if (g == NULL || n == 64)
				fail_msg("after '%s'", after);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processors_of_clouds_are_known),
		cmocka_unit_test(a_virtual_processor_is_known_as_far_as_it_says),
		cmocka_unit_test(processors_are_known_by_any_spelling),
		cmocka_unit_test(each_rule_for_names_is_reached),
		cmocka_unit_test(a_low_power_suffix_is_told_from_a_large_memory_one),
		cmocka_unit_test(evidence_names_the_source_of_each_field),
		cmocka_unit_test(every_field_has_its_value_and_evidence),
		cmocka_unit_test(a_long_brand_is_cut),
		cmocka_unit_test(a_long_name_stays_as_it_is),
		cmocka_unit_test(another_kind_of_processor_is_no_xeon),
		cmocka_unit_test(evidence_has_names),
		cmocka_unit_test(tables_are_sorted_and_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
