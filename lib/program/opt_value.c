/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt_value.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/program/opt.h"

#include <inttypes.h>
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

bool tw_opt_adds(const struct tw_opt *x)
{
	return x->type == TW_OPT_LIST || x->type == TW_OPT_TEXTS;
}

static int set_bool(const char *text, bool *out, struct tw_err *err)
{
	static const char *const yes[] = { "yes", "true", "1", "on" };
	static const char *const no[] = { "no", "false", "0", "off" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		/* The old programs' files have "True". */
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*out = strcasecmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return tw_fail(err, TW_INVALID, "'%.64s' is neither yes nor no", text);
}

static int set_text(const char *text, char **out, struct tw_err *err)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "text of %zu bytes", strlen(text));
	free(*out);
	*out = copy;
	return 0;
}

/* "ADDR:PORT", "[ADDR]:PORT", ":PORT"; whether ADDR can be bound shows when it is. */
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

static int set_choice(const struct tw_opt *x, const char *text, unsigned *out,
		      struct tw_err *err)
{
	char known[128] = "";
	size_t used = 0;

	for (unsigned i = 0; x->choices[i] != NULL; i++) {
		if (strcmp(x->choices[i], text) == 0) {
			*out = i;
			return 0;
		}
		if (used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used,
						 "%s%s", i > 0 ? ", " : "",
						 x->choices[i]);
	}
	return tw_fail(err, TW_INVALID, "'%.64s' is none of %s", text, known);
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
		return tw_parse_duration_ms(text, at, err);
	case TW_OPT_SIZE_BYTES:
		return tw_parse_size_bytes(text, at, err);
	case TW_OPT_LISTEN:
		return set_listen(text, at, err);
	case TW_OPT_CHOICE:
		return set_choice(x, text, at, err);
	case TW_OPT_LIST:
		return tw_strs_split(at, text, err);
	case TW_OPT_TEXTS:
		return tw_strs_adds(at, text, err);
	case TW_OPT_TEXT:
		break;
	}
	return set_text(text, at, err);
}

bool tw_opt_is_given(const struct tw_opt *x, const void *config)
{
	const void *at = const_field(x, config);

	return tw_opt_adds(x) ? ((const struct tw_strs *)at)->count > 0
			      : *(char *const *)at != NULL;
}

static void print_list(const char *name, const struct tw_strs *l, FILE *out)
{
	fprintf(out, l->count > 0 ? "%s = " : "# %s =", name);
	for (size_t i = 0; i < l->count; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "", l->at[i]);
	fprintf(out, "\n");
}

void tw_opt_print(const struct tw_opt *x, const void *config, FILE *out)
{
	const void *at = const_field(x, config);

	switch (x->type) {
	case TW_OPT_BOOL:
		fprintf(out, "%s = %s\n", x->name, *(const bool *)at ? "yes" : "no");
		break;
	case TW_OPT_U32:
		fprintf(out, "%s = %" PRIu32 "\n", x->name, *(const uint32_t *)at);
		break;
	case TW_OPT_DURATION_MS:
		fprintf(out, "%s = %" PRIu64 "ms\n", x->name, *(const uint64_t *)at);
		break;
	case TW_OPT_SIZE_BYTES:
		fprintf(out, "%s = %" PRIu64 "\n", x->name, *(const uint64_t *)at);
		break;
	case TW_OPT_CHOICE:
		fprintf(out, "%s = %s\n", x->name, x->choices[*(const unsigned *)at]);
		break;
	case TW_OPT_LIST:
	case TW_OPT_TEXTS:
		print_list(x->name, at, out);
		break;
	case TW_OPT_TEXT:
	case TW_OPT_LISTEN:
		if (*(char *const *)at != NULL)
			fprintf(out, "%s = %s\n", x->name, *(char *const *)at);
		else
			fprintf(out, "# %s =\n", x->name);
		break;
	}
}

void tw_opt_release(const struct tw_opt *x, void *config)
{
	char **text = field(x, config);

	if (tw_opt_adds(x))
		tw_strs_clear(field(x, config));
	if (x->type != TW_OPT_TEXT && x->type != TW_OPT_LISTEN)
		return;
	free(*text);
	*text = NULL;
}
