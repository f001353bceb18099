/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt_value.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void *field(const struct tw_opt *x, void *config)
{
	return (char *)config + x->offset;
}

static const void *const_field(const struct tw_opt *x, const void *config)
{
	return (const char *)config + x->offset;
}

bool tw_opt_is_list(const struct tw_opt *x)
{
	return x->type == TW_OPT_LIST || x->type == TW_OPT_TEXTS;
}

static int set_bool(const char *text, bool *out, struct tw_err *err)
{
	static const char *const yes[] = { "yes", "true", "1", "on" };
	static const char *const no[] = { "no", "false", "0", "off" };

	for (size_t i = 0; i < TW_COUNT(yes); i++) {
		/* Ignore case: kepler-model-server's files have "True". */
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*out = strcasecmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return tw_fail(err, TW_INVALID, "'%.64s' is neither yes nor no", text);
}

static int set_text(const char *text, char **out, struct tw_err *err)
{
	char *copy;

	if (tw_text_copy(text, strlen(text), &copy, err) < 0)
		return -1;
	free(*out);
	*out = copy;
	return 0;
}

/* Check the form only: "ADDR:PORT", "[ADDR]:PORT" or ":PORT". */
static int set_listen(const char *text, char **out, struct tw_err *err)
{
	const char *colon = strrchr(text, ':');
	struct tw_err unused = { 0 };
	bool bracketed, plain;
	uint32_t port;

	if (colon == NULL || tw_parse_u32(colon + 1, 0, 65535, &port, &unused) < 0)
		return tw_fail(err, TW_INVALID, "'%.64s' is not ADDR:PORT", text);
	bracketed = colon - text > 2 && text[0] == '[' && colon[-1] == ']';
	plain = strcspn(text, ":[]") == (size_t)(colon - text);
	if (!bracketed && !plain)
		return tw_fail(err, TW_INVALID, "'%.64s' is not ADDR:PORT", text);
	return set_text(text, out, err);
}

static int set_list(const struct tw_opt *x, const char *text, struct tw_strs *out,
		    struct tw_err *err)
{
	size_t i = out->count;
	unsigned choice;

	if (tw_strs_split(out, text, err) < 0)
		return -1;
	for (; x->choices != NULL && i < out->count; i++)
		if (tw_choice_find(x->choices, out->at[i], &choice, err) < 0)
			return -1;
	return 0;
}

/* 90000 ms is "90s". */
static void print_duration(uint32_t ms, char out[16])
{
	static const struct {
		uint32_t ms;
		const char *name;
	} units[] = { { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
	size_t i = 0;

	while (ms % units[i].ms != 0)
		i++;
	snprintf(out, 16, "%" PRIu32 "%s", ms / units[i].ms, units[i].name);
}

const char *tw_opt_range(const struct tw_opt *x, char out[TW_OPT_RANGE])
{
	char min[16], max[16];

	print_duration(x->min, min);
	print_duration(x->max, max);
	if (x->type != TW_OPT_DURATION_MS || (x->min == 0 && x->max == 0))
		out[0] = '\0';
	else if (x->max == 0)
		snprintf(out, TW_OPT_RANGE, "%s or more", min);
	else if (x->min == 0)
		snprintf(out, TW_OPT_RANGE, "at most %s", max);
	else
		snprintf(out, TW_OPT_RANGE, "%s to %s", min, max);
	return out;
}

static int set_duration(const struct tw_opt *x, const char *text, uint64_t *out,
			struct tw_err *err)
{
	char range[TW_OPT_RANGE];
	uint64_t ms;

	if (tw_parse_duration_ms(text, &ms, err) < 0)
		return -1;
	if (ms < x->min || (x->max != 0 && ms > x->max))
		return tw_fail(err, TW_INVALID, "'%.64s': want %s", text,
			       tw_opt_range(x, range));
	*out = ms;
	return 0;
}

int tw_opt_set(const struct tw_opt *x, const char *text, void *config, struct tw_err *err)
{
	void *at = field(x, config);

	switch (x->type) {
	case TW_OPT_BOOL:
		return set_bool(text, at, err);
	case TW_OPT_U32:
		return tw_parse_u32(text, x->min, x->max != 0 ? x->max : UINT32_MAX, at,
				    err);
	case TW_OPT_DURATION_MS:
		return set_duration(x, text, at, err);
	case TW_OPT_SIZE_BYTES:
		return tw_parse_size_bytes(text, at, err);
	case TW_OPT_LISTEN:
		return set_listen(text, at, err);
	case TW_OPT_CHOICE:
		return tw_choice_find(x->choices, text, at, err);
	case TW_OPT_LIST:
		return set_list(x, text, at, err);
	case TW_OPT_TEXTS:
		return tw_strs_adds(at, text, err);
	case TW_OPT_TEXT:
		break;
	}
	return set_text(text, at, err);
}

bool tw_opt_value(const struct tw_opt *x, const void *config, struct tw_buf *b)
{
	const void *at = const_field(x, config);
	const struct tw_strs *list = at;

	switch (x->type) {
	case TW_OPT_BOOL:
		tw_buf_adds(b, *(const bool *)at ? "yes" : "no");
		return true;
	case TW_OPT_U32:
		tw_buf_addf(b, "%" PRIu32, *(const uint32_t *)at);
		return true;
	case TW_OPT_DURATION_MS:
		tw_buf_addf(b, "%" PRIu64 "ms", *(const uint64_t *)at);
		return true;
	case TW_OPT_SIZE_BYTES:
		tw_buf_addf(b, "%" PRIu64, *(const uint64_t *)at);
		return true;
	case TW_OPT_CHOICE:
		tw_buf_adds(b, x->choices[*(const unsigned *)at]);
		return true;
	case TW_OPT_LIST:
	case TW_OPT_TEXTS:
		for (size_t i = 0; i < list->count; i++)
			tw_buf_addf(b, "%s%s", i > 0 ? "," : "", list->at[i]);
		return list->count > 0;
	case TW_OPT_TEXT:
	case TW_OPT_LISTEN:
		break;
	}
	if (*(char *const *)at == NULL)
		return false;
	tw_buf_adds(b, *(char *const *)at);
	return true;
}

void tw_opt_release(const struct tw_opt *x, void *config)
{
	char **text = field(x, config);

	if (tw_opt_is_list(x))
		tw_strs_clear(field(x, config));
	if (x->type != TW_OPT_TEXT && x->type != TW_OPT_LISTEN)
		return;
	free(*text);
	*text = NULL;
}
