/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/cpu_facts.h"

#include "lib/core/array.h"

#include <stdlib.h>
#include <string.h>

static const struct tw_cpu_generation generations[] = {
#include "profiler/generations.inc"
};

/* The first pattern that matches counts. */
static const struct {
	const char *pattern, *generation;
} names[] = {
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

const struct tw_cpu_product *tw_cpu_product_find(const char *processor)
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
	for (size_t i = 0; i < TW_COUNT(names); i++)
		if (matches(names[i].pattern, processor))
			return tw_cpu_generation_find(names[i].generation);
	return NULL;
}

bool tw_cpu_brand_find(const char *brand, struct tw_cpu_brand *out)
{
	for (size_t i = 0; i < TW_COUNT(brands); i++) {
		if (!matches(brands[i].pattern, brand))
			continue;
		out->is_virtual = strcmp(brands[i].kind, "virtual") == 0;
		out->generation = brands[i].generation != NULL
					  ? tw_cpu_generation_find(brands[i].generation)
					  : NULL;
		return true;
	}
	return false;
}

static const struct tw_cpu_generation *find_arm(const struct tw_cpu_signature *sig)
{
	const struct tw_arm_part *p = tw_arm_part_find(sig->implementer, sig->part);

	return p != NULL && p->generation != NULL ? tw_cpu_generation_find(p->generation)
						  : NULL;
}

const struct tw_cpu_generation *
tw_cpu_generation_of_signature(const struct tw_cpu_signature *sig, bool *likely)
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
	if (i >= TW_COUNT(names))
		return NULL;
	*generation = names[i].generation;
	return names[i].pattern;
}
