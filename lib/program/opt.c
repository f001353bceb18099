/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/program/opt_file.h"
#include "lib/program/suggest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_setting(const struct tw_opt *x, const void *config, struct tw_err *err)
{
	struct tw_buf value = { 0 };
	const bool given = tw_opt_value(x, config, &value);
	const bool failed = tw_buf_failed(&value);

	if (given && !failed)
		printf("%s = %s\n", x->name, value.data);
	else
		printf("# %s =\n", x->name);
	tw_buf_clear(&value);
	return failed ? tw_fail(err, TW_NOMEM, "--%s", x->name) : 0;
}

/* Return values of getopt_long() for the options of every program. */
enum {
	OPT_HELP = 'h',
	OPT_VERSION = 'V',
	OPT_CONFIG = 256,
	OPT_PRINT_CONFIG,
	OPT_CHECK_CONFIG,
	OPT_LIST_METRICS,
	OPT_FIRST, /* plus the index in the table */
};

/* The parsed command line. */
struct line {
	const char **flag; /* text by index in the table; NULL: not given */
	const char *config;
	bool help, version, print_config, check_config, list_metrics;
};

static const struct option common[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "print-config", no_argument, NULL, OPT_PRINT_CONFIG },
	{ "check-config", no_argument, NULL, OPT_CHECK_CONFIG },
};
static const struct option list_metrics = { "list-metrics", no_argument, NULL,
					    OPT_LIST_METRICS };

#define COMMON (TW_COUNT(common))

/* The table for getopt_long(); free() it. */
static struct option *long_options(const struct tw_opts *o)
{
	struct option *all = calloc(o->count + COMMON + 2, sizeof(*all));

	if (all == NULL)
		return NULL;
	memcpy(all, common, sizeof(common));
	for (size_t i = 0; i < o->count; i++) {
		struct option *x = &all[COMMON + i];

		x->name = o->opt[i].name;
		x->has_arg = o->opt[i].type == TW_OPT_BOOL ? optional_argument
							   : required_argument;
		x->val = OPT_FIRST + (int)i;
	}
	if (o->list_metrics != NULL)
		all[COMMON + o->count] = list_metrics;
	return all;
}

/* The short options for getopt_long(), ":hVn:b"; free() them. */
static char *letters(const struct tw_opts *o)
{
	char *out = malloc(4 + 2 * o->count);
	size_t n = 3;

	if (out == NULL)
		return NULL;
	memcpy(out, ":hV", 3);
	for (size_t i = 0; i < o->count; i++) {
		if (o->opt[i].letter == '\0')
			continue;
		out[n++] = o->opt[i].letter;
		if (o->opt[i].type != TW_OPT_BOOL)
			out[n++] = ':';
	}
	out[n] = '\0';
	return out;
}

/* Index of the option with a letter, or -1. */
static int find_letter(const struct tw_opts *o, int c)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->opt[i].letter != '\0' && o->opt[i].letter == c)
			return (int)i;
	return -1;
}

/* getopt_long() does not say whether no option begins with the text, or several do. */
static int fail_name(const char *flag, const struct option *all, struct tw_err *err)
{
	const size_t len = strcspn(flag + 2, "=");
	char text[65], names[160] = "";
	const char *best = NULL;
	size_t at = 0;

	snprintf(text, sizeof(text), "%.*s", (int)len, flag + 2);
	for (; all->name != NULL; all++) {
		tw_suggest(text, all->name, &best);
		if (strncmp(all->name, flag + 2, len) == 0 &&
		    at + strlen(all->name) + 5 < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s--%s",
					       at > 0 ? ", " : "", all->name);
	}
	if (at > 0)
		return tw_fail(err, TW_INVALID, "ambiguous option '--%s': %s", text,
			       names);
	if (best != NULL)
		return tw_fail(err, TW_INVALID,
			       "unknown option '--%s'; did you mean '--%s'? (see --help)",
			       text, best);
	return tw_fail(err, TW_INVALID, "unknown option '--%s' (see --help)", text);
}

static int fail_use(int c, char *const *argv, const struct option *all,
		    struct tw_err *err)
{
	if (c == ':')
		return tw_fail(err, TW_INVALID, "option '%.64s' needs a value",
			       argv[optind - 1]);
	/* -h and -V are known, so optopt stands for --help=x or --version=x. */
	if (optopt != 0 && optopt < OPT_CONFIG && optopt != OPT_HELP &&
	    optopt != OPT_VERSION)
		return tw_fail(err, TW_INVALID, "unknown option '-%c' (see --help)",
			       optopt);
	if (optopt != 0)
		return tw_fail(err, TW_INVALID, "option '%.64s' takes no value",
			       argv[optind - 1]);
	return fail_name(argv[optind - 1], all, err);
}

/* A repeated flag overrides its earlier value. Lists collect the values of all flags. */
static int take_flag(const struct tw_opt *x, const char *text, const char **flag,
		     void *config, struct tw_err *err)
{
	*flag = text;
	if (tw_opt_is_list(x) && tw_opt_set(x, text, config, err) < 0)
		return tw_err_wrap(err, "--%s", x->name);
	return 0;
}

static int read_line(const struct tw_opts *o, const struct option *all,
		     const char *short_ones, int argc, char **argv, void *config,
		     struct line *l, struct tw_err *err)
{
	int c, at;

	optind = 0; /* GNU: restart the scan; a program and its command both parse */
	opterr = 0;
	while ((c = getopt_long(argc, argv, short_ones, all, NULL)) != -1) {
		switch (c) {
		case OPT_HELP:
			l->help = true;
			break;
		case OPT_VERSION:
			l->version = true;
			break;
		case OPT_CONFIG:
			l->config = optarg;
			break;
		case OPT_PRINT_CONFIG:
			l->print_config = true;
			break;
		case OPT_CHECK_CONFIG:
			l->check_config = true;
			break;
		case OPT_LIST_METRICS:
			l->list_metrics = true;
			break;
		default:
			at = c < OPT_FIRST ? find_letter(o, c) : c - OPT_FIRST;
			if (at < 0)
				return fail_use(c, argv, all, err);
			if (take_flag(&o->opt[at], optarg != NULL ? optarg : "yes",
				      &l->flag[at], config, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* Write "-n, --iterations N" to out. Return its length, also if out is NULL. */
static int name_option(char *out, size_t size, const struct tw_opt *x)
{
	const char letter[] = { '-', x->letter, ',', ' ', '\0' };

	return snprintf(out, size, "%s--%s%s%s", x->letter != '\0' ? letter : "", x->name,
			x->arg != NULL ? " " : "", x->arg != NULL ? x->arg : "");
}

static void print_option(int width, const struct tw_opt *x)
{
	char head[80], range[TW_OPT_RANGE];

	name_option(head, sizeof(head), x);
	printf("  %-*s  %s", width, head, x->help);
	if (tw_opt_range(x, range)[0] != '\0')
		printf(", %s", range);
	if (x->fallback != NULL)
		printf(" [%s]", x->fallback);
	if (x->env != NULL)
		printf(" (%s)", x->env);
	putchar('\n');
}

const struct tw_opt tw_opts_common[TW_OPTS_COMMON] = {
	{ .name = "config",
	  .type = TW_OPT_TEXT,
	  .arg = "FILE",
	  .help = "configuration file: lines 'name = value' of the options above",
	  .env = "TW_CONFIG" },
	{ .name = "print-config", .help = "print the effective settings and exit" },
	{ .name = "check-config", .help = "check the settings and exit" },
	{ .name = "help", .help = "print this help and exit; also -h" },
	{ .name = "version", .help = "print versions and exit; also -V" },
};

static void print_help(const struct tw_opts *o)
{
	static const struct tw_opt metrics = {
		.name = "list-metrics",
		.help = "print name, type, unit and help of each metric and exit",
	};
	int width = (int)strlen("--print-config");

	for (size_t i = 0; i < o->count; i++) {
		int n = name_option(NULL, 0, &o->opt[i]);

		width = n > width ? n : width;
	}
	printf("usage: %s [OPTION]...%s%s\n%s\n\n", o->program,
	       o->operands != NULL ? " " : "", o->operands != NULL ? o->operands : "",
	       o->summary);
	for (size_t i = 0; i < o->count; i++)
		print_option(width, &o->opt[i]);
	if (o->list_metrics != NULL)
		print_option(width, &metrics);
	for (size_t i = 0; i < TW_OPTS_COMMON; i++)
		print_option(width, &tw_opts_common[i]);
	puts("\nPrecedence: flag, environment variable, configuration file, [default].");
}

static int print_metrics(const struct tw_opts *o, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc = -1;

	o->list_metrics(&b);
	if (tw_buf_check(&b, err) < 0)
		goto out;
	fwrite(b.data, 1, b.len, stdout);
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

/* Set an option from the source of the highest precedence. */
static int apply_setting(const struct tw_opt *x, const char *flag, const char *file,
			 void *config, struct tw_err *err)
{
	const char *env = x->env != NULL ? getenv(x->env) : NULL;

	if (flag != NULL) {
		if (!tw_opt_is_list(x) && tw_opt_set(x, flag, config, err) < 0)
			return tw_err_wrap(err, "--%s", x->name);
	} else if (env != NULL && env[0] != '\0') {
		if (tw_opt_set(x, env, config, err) < 0)
			return tw_err_wrap(err, "%s", x->env);
	} else if (file != NULL) {
		if (tw_opt_set(x, file, config, err) < 0)
			return tw_err_wrap(err, "configuration: %s", x->name);
	} else if (x->fallback != NULL) {
		if (tw_opt_set(x, x->fallback, config, err) < 0)
			return tw_err_wrap(err, "default of --%s", x->name);
	}
	return 0;
}

static int read_file(const struct tw_opts *o, const char *path, struct tw_strs *out,
		     struct tw_err *err)
{
	const char **names;
	int rc;

	if (path == NULL || path[0] == '\0')
		return 0;
	if (TW_NEW(names, o->count + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < o->count; i++)
		names[i] = o->opt[i].name;
	rc = tw_opt_file_read(path, names, out, err);
	free(names);
	return rc;
}

static int apply_settings(const struct tw_opts *o, const struct line *l, void *config,
			  struct tw_err *err)
{
	struct tw_strs file = { 0 };
	int rc = -1;

	if (read_file(o, l->config != NULL ? l->config : getenv("TW_CONFIG"), &file,
		      err) < 0)
		goto out;
	for (size_t i = 0; i < o->count; i++) {
		const char *text = tw_opt_file_find(&file, o->opt[i].name);

		if (apply_setting(&o->opt[i], l->flag[i], text, config, err) < 0)
			goto out;
	}
	rc = 0;
out:
	tw_strs_clear(&file);
	return rc;
}

static int parse_line(const struct tw_opts *o, int argc, char **argv, void *config,
		      struct line *l, struct tw_err *err)
{
	struct option *all = long_options(o);
	char *short_ones = letters(o);
	int rc = -1;

	l->flag = calloc(o->count + 1, sizeof(*l->flag));
	if (all == NULL || short_ones == NULL || l->flag == NULL)
		tw_fail(err, TW_NOMEM, "table of %zu options", o->count);
	else
		rc = read_line(o, all, short_ones, argc, argv, config, l, err);
	free(all);
	free(short_ones);
	return rc;
}

/* Fill config. Operands that the program does not take are an error. */
static int configure(const struct tw_opts *o, int argc, char **argv, const struct line *l,
		     void *config, struct tw_err *err)
{
	if (apply_settings(o, l, config, err) < 0)
		return -1;
	if (o->operands == NULL && optind < argc)
		return tw_fail(err, TW_INVALID, "unexpected operand '%.64s'",
			       argv[optind]);
	return 0;
}

static int print_settings(const struct tw_opts *o, const void *config, struct tw_err *err)
{
	for (size_t i = 0; i < o->count; i++)
		if (print_setting(&o->opt[i], config, err) < 0)
			return -1;
	return 0;
}

/* --print-config and --check-config */
static int show_config(const struct tw_opts *o, const struct line *l, void *config,
		       struct tw_err *err)
{
	if (l->print_config && print_settings(o, config, err) < 0)
		return -1;
	return l->check_config && o->check != NULL ? o->check(config, err) : 0;
}

int tw_opts_parse(const struct tw_opts *o, int argc, char **argv, void *config,
		  enum tw_opts_action *action, int *rest, struct tw_err *err)
{
	struct line l = { 0 };
	int rc = -1;

	if (parse_line(o, argc, argv, config, &l, err) < 0)
		goto out;
	if (l.help)
		print_help(o);
	else if (l.version)
		tw_version_print(o->program);
	else if (l.list_metrics ? print_metrics(o, err) < 0
				: configure(o, argc, argv, &l, config, err) < 0 ||
					  show_config(o, &l, config, err) < 0)
		goto out;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		tw_fail(err, TW_IO, "cannot write to stdout");
		goto out;
	}
	*action =
		l.help || l.version || l.print_config || l.check_config || l.list_metrics
			? TW_OPTS_EXIT
			: TW_OPTS_RUN;
	*rest = optind;
	rc = 0;
out:
	if (rc < 0)
		tw_opts_release(o, config);
	free(l.flag);
	return rc;
}

static bool is_given(const struct tw_opt *x, const void *config)
{
	const void *at = (const char *)config + x->offset;

	return tw_opt_is_list(x) ? ((const struct tw_strs *)at)->count > 0
				 : *(char *const *)at != NULL;
}

int tw_opts_check_required(const struct tw_opts *o, const void *config,
			   struct tw_err *err)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->opt[i].required && !is_given(&o->opt[i], config))
			return tw_fail(err, TW_INVALID, "--%s is missing",
				       o->opt[i].name);
	return 0;
}

void tw_opts_release(const struct tw_opts *o, void *config)
{
	for (size_t i = 0; i < o->count; i++)
		tw_opt_release(&o->opt[i], config);
}
