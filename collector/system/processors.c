/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/processors.h"

#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A processor takes about 1.5 KiB. */
#define CPUINFO_MAX (64u << 20)

#define FIELD(key, member)                                         \
	{                                                          \
		key, offsetof(struct tw_processor, member),        \
			sizeof(((struct tw_processor *)0)->member) \
	}

/* The line "processor" starts the next processor. */
static const struct {
	const char *key;
	size_t offset, size;
} fields[] = {
	FIELD("processor", number),  FIELD("vendor_id", vendor),
	FIELD("cpu family", family), FIELD("model", model_number),
	FIELD("model name", model),  FIELD("physical id", package),
	FIELD("core id", core),      FIELD("stepping", stepping),
};

/* Skip blanks at both ends; returns the length. */
static size_t trim(const char **at, const char *end)
{
	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	while (end > *at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (size_t)(end - *at);
}

/* Replace bytes that are not printable ASCII by '?': the value becomes a label. */
static void take_value(char *to, size_t size, const char *value, size_t len)
{
	size_t n = len < size - 1 ? len : size - 1;

	for (size_t i = 0; i < n; i++)
		to[i] = (char)(value[i] >= ' ' && value[i] <= '~' ? value[i] : '?');
	to[n] = '\0';
}

static int add(struct tw_processors *p, struct tw_err *err)
{
	if (p->count == TW_PROCESSORS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d processors",
			       TW_PROCESSORS_MAX);
	if (!tw_grow(&p->at, &p->size, p->count, sizeof(*p->at)))
		return tw_fail(err, TW_NOMEM, "%zu processors", p->count);
	p->at[p->count++] = (struct tw_processor){ .number = "" };
	return 0;
}

static int take_line(struct tw_processors *p, const char *at, const char *end,
		     struct tw_err *err)
{
	const char *colon = memchr(at, ':', (size_t)(end - at));
	const char *value;
	size_t key_len, len;

	if (colon == NULL)
		return 0;
	key_len = trim(&at, colon);
	value = colon + 1;
	len = trim(&value, end);
	for (size_t i = 0; i < TW_COUNT(fields); i++) {
		if (strlen(fields[i].key) != key_len ||
		    memcmp(fields[i].key, at, key_len) != 0)
			continue;
		if (i == 0 && add(p, err) < 0)
			return -1;
		if (p->count > 0)
			take_value((char *)&p->at[p->count - 1] + fields[i].offset,
				   fields[i].size, value, len);
	}
	return 0;
}

int tw_processors_parse(const char *data, size_t len, struct tw_processors *out,
			struct tw_err *err)
{
	const char *at = data, *const end = data + len;
	struct tw_processors p = { 0 };

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline != NULL ? newline : end;

		if (take_line(&p, at, stop, err) < 0) {
			tw_processors_release(&p);
			return -1;
		}
		at = newline != NULL ? newline + 1 : end;
	}
	*out = p;
	return 0;
}

int tw_processors_read(const struct tw_roots *roots, struct tw_processors *out,
		       struct tw_err *err)
{
	char *path = NULL, *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, roots->proc, "cpuinfo", NULL) < 0 ||
	    tw_file_read(path, CPUINFO_MAX, &data, &len, err) < 0)
		goto out;
	if (tw_processors_parse(data, len, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}

	rc = 0;
out:
	free(data);
	free(path);
	return rc;
}

void tw_processors_release(struct tw_processors *p)
{
	free(p->at);
	*p = (struct tw_processors){ 0 };
}

/* ---- microarchitectures ---- */

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

const char *tw_processor_microarch(const struct tw_processor *p)
{
	const uint32_t family = number_of(p->family), model = number_of(p->model_number),
		       stepping = number_of(p->stepping);

	for (size_t i = 0; i < TW_COUNT(known); i++)
		if (family == known[i].family && model == known[i].model &&
		    stepping <= known[i].last && strcmp(p->vendor, known[i].vendor) == 0)
			return known[i].name;
	return NULL;
}
