/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/cpu_identity.h"

#include "lib/core/array.h"
#include "profiler/spec.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tw_cpu_generation generations[] = {
#include "profiler/generations.inc"
};

/* The first pattern that matches counts. */
static const struct {
	const char *pattern, *generation;
} by_name[] = {
#include "profiler/names.inc"
};

static const struct {
	const char *pattern, *generation, *kind;
} brands[] = {
#include "profiler/brands.inc"
};

static const struct {
	const char *vendor;
	uint32_t family, model_min, model_max, stepping_min, stepping_max;
	const char *generation, *sure;
} signatures[] = {
#include "profiler/signatures.inc"
};

static const struct tw_arm_part arm_parts[] = {
#include "profiler/arm_parts.inc"
};

/* Sorted by name. */
static const struct tw_cpu_product products[] = {
#include "profiler/products.inc"
};

const struct tw_cpu_generation *tw_cpu_generation_find(const char *key)
{
	for (size_t i = 0; i < TW_COUNT(generations); i++)
		if (strcmp(generations[i].key, key) == 0)
			return &generations[i];
	return NULL;
}

const struct tw_arm_part *tw_arm_part_find(uint32_t implementer, uint32_t part)
{
	for (size_t i = 0; i < TW_COUNT(arm_parts); i++)
		if (arm_parts[i].implementer == implementer && arm_parts[i].part == part)
			return &arm_parts[i];
	return NULL;
}

static int compare_name(const void *name, const void *product)
{
	return strcmp(name, ((const struct tw_cpu_product *)product)->processor);
}

/* NULL if the table has no such product. */
static const struct tw_cpu_product *find_product(const char *processor)
{
	return bsearch(processor, products, TW_COUNT(products), sizeof(products[0]),
		       compare_name);
}

/* '#' is a digit, '?' any character but '_', '*' any text. */
static bool is_like(char wanted, char c)
{
	if (wanted == '#')
		return c >= '0' && c <= '9';
	return wanted == '?' ? c != '_' && c != '\0' : c == wanted;
}

static bool matches(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern != '\0' && is_like(*pattern, *text)) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

const struct tw_cpu_generation *tw_cpu_generation_of_name(const char *processor)
{
	for (size_t i = 0; i < TW_COUNT(by_name); i++)
		if (matches(by_name[i].pattern, processor))
			return tw_cpu_generation_find(by_name[i].generation);
	return NULL;
}

/* A brand text that a hypervisor made up, or that only old processors print. */
struct brand {
	const struct tw_cpu_generation *generation; /* NULL: unknown */
	bool is_virtual;
};

/* Find a squashed text. *out is unchanged if no pattern matches. */
static void find_brand(const char *text, struct brand *out)
{
	for (size_t i = 0; i < TW_COUNT(brands); i++) {
		if (!matches(brands[i].pattern, text))
			continue;
		out->is_virtual = strcmp(brands[i].kind, "virtual") == 0;
		out->generation = brands[i].generation != NULL
					  ? tw_cpu_generation_find(brands[i].generation)
					  : NULL;
		return;
	}
}

static const struct tw_cpu_generation *find_arm(const struct tw_cpu_signature *sig)
{
	const struct tw_arm_part *p = tw_arm_part_find(sig->implementer, sig->part);

	return p != NULL && p->generation != NULL ? tw_cpu_generation_find(p->generation)
						  : NULL;
}

/*
 * The generation of a CPUID signature or MIDR_EL1; NULL if unknown. *likely: other
 * generations of the same architecture have that signature, too.
 */
static const struct tw_cpu_generation *
generation_of_signature(const struct tw_cpu_signature *sig, bool *likely)
{
	*likely = false;
	if (sig->implementer != 0)
		return find_arm(sig);
	for (size_t i = 0; i < TW_COUNT(signatures); i++) {
		if (sig->family != signatures[i].family ||
		    sig->model < signatures[i].model_min ||
		    sig->model > signatures[i].model_max ||
		    sig->stepping < signatures[i].stepping_min ||
		    sig->stepping > signatures[i].stepping_max ||
		    strcmp(sig->vendor, signatures[i].vendor) != 0)
			continue;
		*likely = strcmp(signatures[i].sure, "likely") == 0;
		return tw_cpu_generation_find(signatures[i].generation);
	}
	return NULL;
}

const struct tw_cpu_generation *tw_cpu_generation_at(size_t i)
{
	return i < TW_COUNT(generations) ? &generations[i] : NULL;
}

const struct tw_cpu_product *tw_cpu_product_at(size_t i)
{
	return i < TW_COUNT(products) ? &products[i] : NULL;
}

const char *tw_cpu_pattern_at(size_t i, const char **generation)
{
	if (i >= TW_COUNT(by_name))
		return NULL;
	*generation = by_name[i].generation;
	return by_name[i].pattern;
}

#define TEXT_MAX 256
#define MHZ_MAX 10000

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_kept(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || c == '@';
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* ---- texts ---- */

/* The first bytes of the brand in lower case, with a blank for each NUL. */
static void make_lower(const char *brand, size_t len, char out[TEXT_MAX])
{
	const size_t n = len < TEXT_MAX ? len : TEXT_MAX - 1;

	for (size_t i = 0; i < n; i++)
		out[i] = lower(brand[i] != '\0' ? brand[i] : ' ');
	out[n] = '\0';
}

static size_t mark_length(const char *text)
{
	static const char *const marks[] = { "(r)", "(tm)", "(c)" };

	for (size_t i = 0; i < TW_COUNT(marks); i++)
		if (starts(text, marks[i]))
			return strlen(marks[i]);
	return 0;
}

/* Without "(r)" and "(tm)", and with '_' for each run of other characters. */
static void squash(const char *text, char out[TEXT_MAX])
{
	size_t n = 0;

	while (*text != '\0') {
		const size_t mark = mark_length(text);

		if (mark > 0) {
			text += mark;
			continue;
		}
		if (is_kept(*text))
			out[n++] = *text;
		else if (n > 0 && out[n - 1] != '_')
			out[n++] = '_';
		text++;
	}
	out[n] = '\0';
	if (n > 0 && out[n - 1] == '_')
		out[n - 1] = '\0';
}

/* A number of GHz with up to three decimals that ends before `end`, in MHz; 0 if none. */
static uint32_t read_ghz(const char *text, const char *end, const char **start)
{
	const char *p = end;
	uint32_t mhz = 0, place = 1000;
	bool decimals = false;

	while (p > text && (is_digit(p[-1]) || p[-1] == '.'))
		p--;
	*start = p;
	for (; p < end; p++) {
		if (*p == '.') {
			decimals = true;
			continue;
		}
		if (decimals) {
			place /= 10;
			mhz += place * (uint32_t)(*p - '0');
		} else {
			mhz = mhz * 10 + 1000 * (uint32_t)(*p - '0');
		}
		if (mhz > MHZ_MAX)
			return 0;
	}
	return mhz;
}

/*
 * Frequencies in the text: "@ 2.20GHz" is the nominal one, "up to 3.0 GHz" the highest
 * with turbo.
 */
static void take_frequencies(const char *text, struct tw_cpu_identity *id)
{
	const char *ghz = text;

	for (; (ghz = strstr(ghz, "ghz")) != NULL; ghz += 3) {
		const char *end = ghz, *start;
		uint32_t mhz;

		while (end > text && end[-1] == ' ')
			end--;
		mhz = read_ghz(text, end, &start);
		if (mhz == 0)
			continue;
		if (start - text >= 3 && starts(start - 3, "to ")) {
			id->turbo_mhz = mhz;
			id->how[TW_CPU_TURBO_MHZ] = TW_CPU_BY_NAME;
		} else if (id->nominal_mhz == 0) {
			id->nominal_mhz = mhz;
			id->how[TW_CPU_NOMINAL_MHZ] = TW_CPU_BY_NAME;
		}
	}
}

/* ---- canonical names ---- */

/* Replace the beginning of a name, if the result fits. */
static void replace_start(char name[TW_SPEC_TEXT], size_t old, const char *with)
{
	char text[TW_SPEC_TEXT];
	const int n = snprintf(text, sizeof(text), "%s%s", with, name + old);

	if (n > 0 && (size_t)n < sizeof(text))
		memcpy(name, text, (size_t)n + 1);
}

/* "amd_opteron_2216he" has the suffix of "amd_opteron_2216_he". */
static void part_opteron_suffix(char name[TW_SPEC_TEXT])
{
	static const char opteron[] = "amd_opteron_";
	char *suffix = name + sizeof(opteron) - 1;
	size_t len;

	if (!starts(name, opteron))
		return;
	suffix += strspn(suffix, "0123456789");
	len = strlen(suffix);
	if (len != 2 || strlen(name) + 1 >= TW_SPEC_TEXT)
		return;
	if (strcmp(suffix, "he") == 0 || strcmp(suffix, "ee") == 0 ||
	    strcmp(suffix, "se") == 0) {
		memmove(suffix + 1, suffix, len + 1);
		suffix[0] = '_';
	}
}

/* "Gold 6780E", "8592+" and "Gold 6548Y" are printed for "6780E", "Platinum 8592+",
 * "6548Y+". */
static void find_xeon(char name[TW_SPEC_TEXT])
{
	static const char *const grades[] = { "", "platinum_", "gold_", "silver_",
					      "bronze_" };
	static const char xeon[] = "intel_xeon_";
	const char *model = name + sizeof(xeon) - 1;
	char text[TW_SPEC_TEXT];

	if (!starts(name, xeon) || find_product(name) != NULL)
		return;
	for (size_t i = 1; i < TW_COUNT(grades); i++)
		if (starts(model, grades[i]))
			model += strlen(grades[i]);
	for (size_t i = 0; is_digit(*model) && i < 2 * TW_COUNT(grades); i++) {
		const int n = snprintf(text, sizeof(text), "%s%s%s%s", xeon,
				       grades[i % TW_COUNT(grades)], model,
				       i < TW_COUNT(grades) ? "" : "+");

		if (n < (int)sizeof(text) && find_product(text) != NULL) {
			memcpy(name, text, (size_t)n + 1);
			return;
		}
	}
}

static void make_canonical(char name[TW_SPEC_TEXT])
{
	static const struct {
		const char *start, *with;
	} starts_of[] = {
		{ "intel_xeon_e_e_", "intel_xeon_e_" },
		{ "intel_xeon_6_6", "intel_xeon_6" },
		{ "intel_e3_", "intel_xeon_e3_" },
		{ "intel_e5_", "intel_xeon_e5_" },
		{ "intel_e7_", "intel_xeon_e7_" },
		{ "intel_x3", "intel_xeon_x3" },
		{ "xeon_", "intel_xeon_" },
		{ "epyc_", "amd_epyc_" },
		{ "amd_epyc_embedded_", "amd_epyc_" },
		{ "ryzen_", "amd_ryzen_" },
		{ "opteron_", "amd_opteron_" },
		{ "dual_core_amd_", "amd_" },
		{ "quad_core_amd_", "amd_" },
		{ "six_core_amd_", "amd_" },
		{ "arm_cortex_", "cortex_" },
		{ "arm_neoverse_", "neoverse_" },
	};
	const char *gen;

	tw_processor_drop_cores(name);
	gen = strstr(name, "_gen_intel_core_");

	/* "12th_gen_intel_core_i9_12900k" */
	if (gen != NULL && is_digit(name[0]))
		replace_start(name, (size_t)(gen - name) + strlen("_gen_"), "");
	for (size_t i = 0; i < TW_COUNT(starts_of); i++)
		if (starts(name, starts_of[i].start)) {
			replace_start(name, strlen(starts_of[i].start),
				      starts_of[i].with);
			break;
		}
	part_opteron_suffix(name);
	find_xeon(name);
}

/* ---- low power ---- */

static bool is_tail(const char *tail, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(tail, list[i]) == 0)
			return true;
	return false;
}

/*
 * "L5430", "E5-2650L", "E3-1265L v3": Xeons up to 2019. The L of "Platinum 8280L" is for
 * large memory.
 */
static const char *low_power_xeon(const char *model)
{
	const char *end = model + strcspn(model, "v");

	if (model[0] == 'l' && is_digit(model[1]))
		return "l";
	if (starts(model, "e3_") || starts(model, "e5_") || starts(model, "e7_"))
		return end > model && end[-1] == 'l' ? "l" : "";
	return "";
}

static const char *low_power_of(const char *name)
{
	static const char *const desktop[] = { "t", "te", "ge", "s" };
	static const char xeon[] = "intel_xeon_", opteron[] = "amd_opteron_";
	const char *model, *tail;

	if (starts(name, xeon))
		return low_power_xeon(name + sizeof(xeon) - 1);
	if (starts(name, opteron)) {
		tail = name + sizeof(opteron) - 1;
		tail += strspn(tail, "0123456789");
		return strcmp(tail, "_he") == 0   ? "he"
		       : strcmp(tail, "_ee") == 0 ? "ee"
						  : "";
	}
	if (!starts(name, "intel_core_i") && !starts(name, "amd_ryzen_"))
		return "";
	model = strrchr(name, '_') + 1;
	tail = model + strspn(model, "0123456789");
	return is_tail(tail, desktop, TW_COUNT(desktop)) ? "t" : "";
}

/* ---- the identity ---- */

static void set_text(struct tw_cpu_identity *id, enum tw_cpu_field field,
		     const char **place, const char *text, enum tw_cpu_evidence how)
{
	if (text == NULL)
		return;
	*place = text;
	id->how[field] = how;
}

static void set_number(struct tw_cpu_identity *id, enum tw_cpu_field field,
		       uint32_t *place, uint32_t number, enum tw_cpu_evidence how)
{
	/* The printed figure goes before the published one. */
	if (number == 0 || *place != 0)
		return;
	*place = number;
	id->how[field] = how;
}

static void take_generation(struct tw_cpu_identity *id, const struct tw_cpu_generation *g,
			    enum tw_cpu_evidence how, bool likely)
{
	const enum tw_cpu_evidence class = likely ? TW_CPU_LIKELY : how;

	set_text(id, TW_CPU_VENDOR, &id->vendor, g->vendor, how);
	set_text(id, TW_CPU_ARCHITECTURE, &id->architecture, g->architecture, how);
	set_text(id, TW_CPU_GENERATION, &id->generation, g->name, class);
	set_text(id, TW_CPU_MEMORY, &id->memory, g->memory, class);
	set_number(id, TW_CPU_PROCESS, &id->process_nm, g->process_nm, how);
}

static void take_product(struct tw_cpu_identity *id, const struct tw_cpu_product *p)
{
	const enum tw_cpu_evidence how = TW_CPU_BY_TABLE;

	set_number(id, TW_CPU_CORES, &id->cores, p->cores, how);
	set_number(id, TW_CPU_THREADS, &id->threads, p->threads, how);
	set_number(id, TW_CPU_NOMINAL_MHZ, &id->nominal_mhz, p->nominal_mhz, how);
	set_number(id, TW_CPU_TURBO_MHZ, &id->turbo_mhz, p->turbo_mhz, how);
	set_number(id, TW_CPU_TDP, &id->tdp_w, p->tdp_w, how);
}

/* The vendor alone, where the generation is unknown. */
static void take_vendor(struct tw_cpu_identity *id, const struct tw_cpu_signature *sig)
{
	static const struct {
		const char *start, *vendor;
	} starts_of[] = {
		{ "intel", "intel" },      { "amd_", "amd" },
		{ "hygon", "hygon" },      { "ampere", "ampere" },
		{ "power", "ibm" },        { "genuineintel", "intel" },
		{ "authenticamd", "amd" }, { "hygongenuine", "hygon" },
	};
	const char *const texts[] = { id->processor, sig->vendor };

	for (size_t t = 0; t < TW_COUNT(texts); t++)
		for (size_t i = 0; i < TW_COUNT(starts_of); i++)
			if (id->vendor[0] == '\0' && starts(texts[t], starts_of[i].start))
				set_text(id, TW_CPU_VENDOR, &id->vendor,
					 starts_of[i].vendor,
					 t == 0 ? TW_CPU_BY_NAME : TW_CPU_BY_SIGNATURE);
}

/* The generation at the end of a name that tw_machine_spec_discover() made. */
static const struct tw_cpu_generation *generation_at_end(const char *name)
{
	const struct tw_cpu_generation *g = NULL;

	for (const char *at = strchr(name, '_'); at != NULL && g == NULL;
	     at = strchr(at + 1, '_'))
		g = tw_cpu_generation_find(at + 1);
	return g != NULL && g->name != NULL && starts(name, g->vendor) ? g : NULL;
}

/*
 * The name decides, unless the signature contradicts it and the product is not in the
 * table: rules for names cannot know custom products.
 */
static void find_generation(struct tw_cpu_identity *id,
			    const struct tw_cpu_signature *sig,
			    const struct tw_cpu_product *product,
			    const struct tw_cpu_generation *old)
{
	const struct tw_cpu_generation *named = tw_cpu_generation_of_name(id->processor);
	bool likely;
	const struct tw_cpu_generation *signed_as = generation_of_signature(sig, &likely);

	if (named != NULL && signed_as != NULL && product == NULL &&
	    strcmp(named->architecture, signed_as->architecture) != 0)
		named = NULL;
	if (named != NULL && (named->name != NULL || signed_as == NULL))
		take_generation(id, named, TW_CPU_BY_NAME, false);
	else if (signed_as != NULL)
		take_generation(id, signed_as, TW_CPU_BY_SIGNATURE, likely);
	else if (old != NULL || (old = generation_at_end(id->processor)) != NULL)
		take_generation(id, old, TW_CPU_LIKELY, true);
}

void tw_cpu_identify(const char *brand, size_t len, const struct tw_cpu_signature *sig,
		     struct tw_cpu_identity *out)
{
	static const struct tw_cpu_signature unknown;
	struct tw_cpu_identity id = { .vendor = "",
				      .architecture = "",
				      .generation = "",
				      .memory = "",
				      .low_power = "" };
	struct brand special = { 0 };
	const struct tw_cpu_product *product;
	char text[TEXT_MAX], squashed[TEXT_MAX];

	/*
	 * Most requests to the server have a known name: do not try the hundreds of
	 * patterns.
	 */
	if (len == 0 && sig == NULL) {
		*out = id;
		return;
	}
	if (sig == NULL)
		sig = &unknown;
	tw_processor_name(brand, len, id.processor);
	make_canonical(id.processor);
	make_lower(brand, len, text);
	take_frequencies(text, &id);
	squash(text, squashed);
	find_brand(squashed, &special);

	product = find_product(id.processor);
	if (product != NULL)
		take_product(&id, product);
	if (!special.is_virtual)
		find_generation(&id, sig, product, special.generation);
	else if (special.generation != NULL)
		take_generation(&id, special.generation, TW_CPU_LIKELY, true);
	take_vendor(&id, sig);
	if (product != NULL ||
	    (id.how[TW_CPU_GENERATION] == TW_CPU_BY_NAME && !special.is_virtual))
		set_text(&id, TW_CPU_LOW_POWER, &id.low_power, low_power_of(id.processor),
			 TW_CPU_BY_NAME);
	*out = id;
}

const char *tw_cpu_evidence_name(enum tw_cpu_evidence how)
{
	static const char *const names[] = {
		[TW_CPU_UNKNOWN] = "unknown",        [TW_CPU_LIKELY] = "likely",
		[TW_CPU_BY_SIGNATURE] = "signature", [TW_CPU_BY_NAME] = "name",
		[TW_CPU_BY_TABLE] = "table",
	};

	return (size_t)how < TW_COUNT(names) ? names[how] : "unknown";
}

double tw_machine_tdp_w(const struct tw_machine_spec *s)
{
	struct tw_cpu_identity id;

	tw_cpu_identify(s->processor, strlen(s->processor), NULL, &id);
	return (double)s->chips * id.tdp_w;
}
