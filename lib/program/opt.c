/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt.h"

#include "lib/core/err.h"
#include "lib/program/opt_file.h"
#include "lib/program/opt_value.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What getopt_long() returns for the options that every program has. */
enum {
	OPT_HELP = 'h',
	OPT_VERSION = 'V',
	OPT_CONFIG = 256,
	OPT_PRINT_CONFIG,
	OPT_CHECK_CONFIG,
	OPT_FIRST, /* + place in the table */
};

/* What the command line says. */
struct line {
	const char **flag; /* by place in the table; NULL: not given */
	const char *config;
	bool help, version, print_config, check_config;
};

static const struct option common[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "print-config", no_argument, NULL, OPT_PRINT_CONFIG },
	{ "check-config", no_argument, NULL, OPT_CHECK_CONFIG },
};

#define COMMON (sizeof(common) / sizeof(common[0]))

/* The table as getopt_long() wants it. */
static struct option *long_options(const struct tw_opts *o)
{
	struct option *all = calloc(o->count + COMMON + 1, sizeof(*all));

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
	return all;
}

/* ":hVn:b": what has a letter; free() it. */
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

/* The place of the option of a letter; -1: none. */
static int find_letter(const struct tw_opts *o, int c)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->opt[i].letter != '\0' && o->opt[i].letter == c)
			return (int)i;
	return -1;
}

static int fail_use(int c, char *const *argv, struct tw_err *err)
{
	if (c == ':')
		return tw_fail(err, TW_INVALID, "option '%.64s' needs a value",
			       argv[optind - 1]);
	/* -h and -V are known: with a value, it was their long form. */
	if (optopt != 0 && optopt < OPT_CONFIG && optopt != OPT_HELP &&
	    optopt != OPT_VERSION)
		return tw_fail(err, TW_INVALID, "unknown option '-%c' (see --help)",
			       optopt);
	if (optopt != 0)
		return tw_fail(err, TW_INVALID, "option '%.64s' takes no value",
			       argv[optind - 1]);
	return tw_fail(err, TW_INVALID,
		       "unknown or ambiguous option '%.64s' (see --help)",
		       argv[optind - 1]);
}

/* Of a flag that comes again the last value holds; a list has those of all. */
static int take_flag(const struct tw_opt *x, const char *text, const char **flag,
		     void *config, struct tw_err *err)
{
	*flag = text;
	if (tw_opt_adds(x) && tw_opt_set(x, text, config, err) < 0)
		return tw_err_wrap(err, "--%s", x->name);
	return 0;
}

static int read_line(const struct tw_opts *o, const struct option *all,
		     const char *short_ones, int argc, char **argv, void *config,
		     struct line *l, struct tw_err *err)
{
	int c, at;

	optind = 0; /* GNU: start anew, commands are parsed after their program */
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
		default:
			at = c < OPT_FIRST ? find_letter(o, c) : c - OPT_FIRST;
			if (at < 0)
				return fail_use(c, argv, err);
			if (take_flag(&o->opt[at], optarg != NULL ? optarg : "yes",
				      &l->flag[at], config, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* "--listen ADDR:PORT", "-n, --iterations N"; as long as it is with out NULL. */
static int name_option(char *out, size_t size, const struct tw_opt *x)
{
	const char letter[] = { '-', x->letter, ',', ' ', '\0' };

	return snprintf(out, size, "%s--%s%s%s", x->letter != '\0' ? letter : "", x->name,
			x->arg != NULL ? " " : "", x->arg != NULL ? x->arg : "");
}

static void print_option(int width, const struct tw_opt *x)
{
	char head[80];

	name_option(head, sizeof(head), x);
	printf("  %-*s  %s", width, head, x->help);
	if (x->fallback != NULL)
		printf(" [%s]", x->fallback);
	if (x->env != NULL)
		printf(" (%s)", x->env);
	putchar('\n');
}

static void print_help(const struct tw_opts *o)
{
	static const struct tw_opt always[] = {
		{ .name = "config",
		  .arg = "FILE",
		  .help = "read lines 'name = value' of the options above",
		  .env = "TW_CONFIG" },
		{ .name = "print-config",
		  .help = "print the settings in force and exit" },
		{ .name = "check-config", .help = "check the settings and exit" },
		{ .name = "help", .help = "print this and exit; also -h" },
		{ .name = "version", .help = "print versions and exit; also -V" },
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
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		print_option(width, &always[i]);
	puts("\nA flag goes before the environment, that before the file, that before "
	     "[the "
	     "default].");
}

/* One setting: the first place that has it wins. */
static int set_one(const struct tw_opt *x, const char *flag, const char *file,
		   void *config, struct tw_err *err)
{
	const char *env = x->env != NULL ? getenv(x->env) : NULL;

	if (flag != NULL) {
		if (!tw_opt_adds(x) && tw_opt_set(x, flag, config, err) < 0)
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

static int settle(const struct tw_opts *o, const struct line *l, void *config,
		  struct tw_err *err)
{
	const char *path = l->config != NULL ? l->config : getenv("TW_CONFIG");
	struct tw_strs file = { 0 };
	int rc = -1;

	if (path != NULL && path[0] != '\0' && tw_opt_file_read(path, o, &file, err) < 0)
		goto out;
	for (size_t i = 0; i < o->count; i++) {
		const char *text = tw_opt_file_find(&file, o->opt[i].name);

		if (set_one(&o->opt[i], l->flag[i], text, config, err) < 0)
			goto out;
	}
	rc = 0;
out:
	tw_strs_clear(&file);
	return rc;
}

int tw_opts_parse(const struct tw_opts *o, int argc, char **argv, void *config,
		  enum tw_opts_action *action, int *rest, struct tw_err *err)
{
	struct option *all = NULL;
	char *short_ones = NULL;
	struct line l = { 0 };
	int rc = -1;

	all = long_options(o);
	short_ones = letters(o);
	l.flag = calloc(o->count + 1, sizeof(*l.flag));
	if (all == NULL || short_ones == NULL || l.flag == NULL) {
		tw_fail(err, TW_NOMEM, "table of %zu options", o->count);
		goto out;
	}
	if (read_line(o, all, short_ones, argc, argv, config, &l, err) < 0)
		goto out;
	if (!l.help && !l.version) {
		if (settle(o, &l, config, err) < 0)
			goto out;
		if (o->operands == NULL && optind < argc) {
			tw_fail(err, TW_INVALID, "unexpected operand '%.64s'",
				argv[optind]);
			goto out;
		}
	}

	if (l.help)
		print_help(o);
	else if (l.version)
		tw_version_print(o->program);
	else if (l.print_config)
		for (size_t i = 0; i < o->count; i++)
			tw_opt_print(&o->opt[i], config, stdout);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		tw_fail(err, TW_IO, "cannot write to stdout");
		goto out;
	}
	*action = l.help || l.version || l.print_config || l.check_config ? TW_OPTS_EXIT
									  : TW_OPTS_RUN;
	*rest = optind;
	rc = 0;
out:
	if (rc < 0)
		tw_opts_release(o, config);
	free(all);
	free(short_ones);
	free(l.flag);
	return rc;
}

int tw_opts_check_required(const struct tw_opts *o, const void *config,
			   struct tw_err *err)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->opt[i].required && !tw_opt_is_given(&o->opt[i], config))
			return tw_fail(err, TW_INVALID, "--%s is missing",
				       o->opt[i].name);
	return 0;
}

void tw_opts_release(const struct tw_opts *o, void *config)
{
	for (size_t i = 0; i < o->count; i++)
		tw_opt_release(&o->opt[i], config);
}
