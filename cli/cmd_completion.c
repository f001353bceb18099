/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt completion: scripts for shells, made from the option tables. */
#include "cli/command.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <string.h>

struct config {
	const char *shell;
};

static const struct tw_opts opts = {
	.program = "tallywatt completion",
	.operands = "SHELL",
	.summary = "Print a script that completes commands and options: bash, fish, zsh.",
};

/* How the shell completes the value of an option. */
enum value { VALUE_NONE, VALUE_ANY, VALUE_CHOICE, VALUE_FILE, VALUE_DIR };

static enum value value_of(const struct tw_opt *x)
{
	if (x->type == TW_OPT_BOOL)
		return VALUE_NONE;
	if (x->choices != NULL)
		return VALUE_CHOICE;
	if (x->arg == NULL)
		return VALUE_ANY;
	if (strstr(x->arg, "FILE") != NULL || strstr(x->arg, "ZIP") != NULL ||
	    strstr(x->arg, "PATH") != NULL || strstr(x->arg, "SOCKET") != NULL)
		return VALUE_FILE;
	return strstr(x->arg, "DIR") != NULL || strstr(x->arg, "DB") != NULL ? VALUE_DIR
									     : VALUE_ANY;
}

#define SHELLS "bash fish zsh"
#define DAEMONS "tw-collector tw-estimator tw-server tw-trainer"
/* After the name of a daemon: its options. */
#define LIST_OPTIONS " --help 2>/dev/null | sed -n 's/^ *\\(--[a-z0-9-]*\\).*/\\1/p'"

/* Option i of a command; NULL after the last. */
static const struct tw_opt *option_at(const struct tw_command *c, size_t i)
{
	if (i < TW_OPTS_COMMON)
		return &tw_opts_common[i];
	i -= TW_OPTS_COMMON;
	return i < c->opts->count ? &c->opts->opt[i] : NULL;
}

/* ---- bash ---- */

static void add_choices(struct tw_buf *b, const struct tw_opt *x)
{
	for (size_t i = 0; x->choices[i] != NULL; i++)
		tw_buf_addf(b, "%s%s", i > 0 ? " " : "", x->choices[i]);
}

static void add_bash_option(struct tw_buf *b, const struct tw_opt *x)
{
	const enum value value = value_of(x);

	if (value == VALUE_NONE)
		return;
	tw_buf_addf(b, "\t\t--%s", x->name);
	if (x->letter != '\0')
		tw_buf_addf(b, "|-%c", x->letter);
	if (value == VALUE_CHOICE) {
		tw_buf_adds(b, ") words='");
		add_choices(b, x);
		tw_buf_adds(b, "' ;;\n");
	} else {
		tw_buf_addf(b, ") what=%s ;;\n",
			    value == VALUE_FILE  ? "file"
			    : value == VALUE_DIR ? "dir"
						 : "any");
	}
}

static void add_bash_command(struct tw_buf *b, const struct tw_command *c)
{
	const struct tw_opt *x;

	tw_buf_addf(b, "\t%s)\n\t\toptions='", tw_command_name(c));
	for (size_t i = 0; (x = option_at(c, i)) != NULL; i++)
		tw_buf_addf(b, " --%s", x->name);
	tw_buf_adds(b, "'\n\t\tcase $prev in\n");
	for (size_t i = 0; (x = option_at(c, i)) != NULL; i++)
		add_bash_option(b, x);
	tw_buf_addf(b, "\t\tesac\n\t\toperands=%s ;;\n",
		    c->opts->operands != NULL ? "yes" : "");
}

static void add_names(struct tw_buf *b)
{
	size_t count;
	const struct tw_command *const *all = tw_commands(&count);

	for (size_t i = 0; i < count; i++)
		tw_buf_addf(b, "%s ", tw_command_name(all[i]));
	tw_buf_adds(b, "help");
}

/* cli/completion.bash, with @names@ and @commands@ for the tables. */
static const char bash_script[] = {
#include <cli/completion.inc>
	0
};

static void write_bash(struct tw_buf *b)
{
	static const char names[] = "@names@", commands[] = "@commands@";
	const char *at_names = strstr(bash_script, names);
	const char *at_commands = strstr(at_names, commands);
	size_t count;
	const struct tw_command *const *all = tw_commands(&count);

	tw_buf_add(b, bash_script, (size_t)(at_names - bash_script));
	add_names(b);
	at_names += strlen(names);
	tw_buf_add(b, at_names, (size_t)(at_commands - at_names));
	for (size_t i = 0; i < count; i++)
		add_bash_command(b, all[i]);
	tw_buf_adds(b, at_commands + strlen(commands));
}

/* ---- zsh ---- */

/* Text inside single quotes, of a specification where [ ] and : have meanings. */
static void add_quoted(struct tw_buf *b, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			tw_buf_adds(b, "'\\''");
		else if (strchr("[]:\\", *text) != NULL)
			tw_buf_addf(b, "\\%c", *text);
		else
			tw_buf_add(b, text, 1);
	}
}

static void add_zsh_option(struct tw_buf *b, const struct tw_opt *x)
{
	const enum value value = value_of(x);
	const bool list = x->type == TW_OPT_LIST || x->type == TW_OPT_TEXTS;

	tw_buf_addf(b, " \\\n\t\t'%s--%s%s[", list ? "*" : "", x->name,
		    value == VALUE_NONE ? "" : "=");
	add_quoted(b, x->help);
	tw_buf_adds(b, "]");
	if (value != VALUE_NONE) {
		tw_buf_adds(b, ":");
		add_quoted(b, x->arg != NULL ? x->arg : "value");
		tw_buf_adds(b, ":");
	}
	if (value == VALUE_CHOICE) {
		tw_buf_adds(b, "(");
		add_choices(b, x);
		tw_buf_adds(b, ")");
	} else if (value == VALUE_FILE || value == VALUE_DIR) {
		tw_buf_adds(b, value == VALUE_FILE ? "_files" : "_files -/");
	}
	tw_buf_adds(b, "'");
}

static void write_zsh(struct tw_buf *b)
{
	const struct tw_opt *x;
	size_t count;
	const struct tw_command *const *all = tw_commands(&count);

	tw_buf_adds(b,
		    "#compdef tallywatt " DAEMONS "\n"
		    "# zsh completion for tallywatt: made by `tallywatt completion zsh`\n"
		    "_tallywatt()\n{\n\tlocal -a names\n"
		    "\tif [[ $service = tw-* ]]; then\n\t\t_gnu_generic\n"
		    "\t\treturn\n\tfi\n\tnames=(\n");
	for (size_t i = 0; i < count; i++) {
		tw_buf_addf(b, "\t\t'%s:", tw_command_name(all[i]));
		add_quoted(b, all[i]->opts->summary);
		tw_buf_adds(b, "'\n");
	}
	tw_buf_adds(b, "\t\t'help:print the options of a command'\n\t)\n"
		       "\tif (( CURRENT == 2 )); then\n"
		       "\t\t_describe command names\n\t\treturn\n\tfi\n"
		       "\tshift words\n\t(( CURRENT-- ))\n"
		       "\tcase $words[1] in\n"
		       "\thelp) _describe command names ;;\n");
	for (size_t i = 0; i < count; i++) {
		tw_buf_addf(b, "\t%s) _arguments", tw_command_name(all[i]));
		for (size_t k = 0; (x = option_at(all[i], k)) != NULL; k++)
			add_zsh_option(b, x);
		if (strcmp(tw_command_name(all[i]), "completion") == 0)
			tw_buf_adds(b, " ':shell:(" SHELLS ")'");
		else if (all[i]->opts->operands != NULL)
			tw_buf_adds(b, " '*:file:_files'");
		tw_buf_adds(b, " ;;\n");
	}
	tw_buf_adds(b, "\tesac\n}\n_tallywatt \"$@\"\n");
}

/* ---- fish ---- */

/* Text inside single quotes. */
static void add_fish_quoted(struct tw_buf *b, const char *text)
{
	tw_buf_adds(b, "'");
	for (; *text != '\0'; text++)
		tw_buf_addf(b, strchr("'\\", *text) != NULL ? "\\%c" : "%c", *text);
	tw_buf_adds(b, "'");
}

static void add_fish_option(struct tw_buf *b, const char *command, const struct tw_opt *x)
{
	const enum value value = value_of(x);

	tw_buf_addf(b, "complete -c tallywatt -n '__fish_seen_subcommand_from %s' -l %s",
		    command, x->name);
	if (x->letter != '\0')
		tw_buf_addf(b, " -s %c", x->letter);
	if (value == VALUE_FILE)
		tw_buf_adds(b, " -r -F");
	else if (value != VALUE_NONE)
		tw_buf_adds(b, " -x");
	if (value == VALUE_DIR)
		tw_buf_adds(b, " -a '(__fish_complete_directories)'");
	if (value == VALUE_CHOICE) {
		tw_buf_adds(b, " -a '");
		add_choices(b, x);
		tw_buf_adds(b, "'");
	}
	tw_buf_adds(b, " -d ");
	add_fish_quoted(b, x->help);
	tw_buf_adds(b, "\n");
}

static void write_fish(struct tw_buf *b)
{
	const struct tw_opt *x;
	size_t count;
	const struct tw_command *const *all = tw_commands(&count);

	tw_buf_adds(
		b,
		"# fish completion for tallywatt: made by `tallywatt completion fish`\n"
		"complete -c tallywatt -n __fish_use_subcommand -f -a help\n"
		"complete -c tallywatt -n '__fish_seen_subcommand_from completion' "
		"-f -a '" SHELLS "'\n");
	for (size_t i = 0; i < count; i++) {
		tw_buf_addf(b,
			    "complete -c tallywatt -n __fish_use_subcommand -f -a %s -d ",
			    tw_command_name(all[i]));
		add_fish_quoted(b, all[i]->opts->summary);
		tw_buf_adds(b, "\n");
		for (size_t k = 0; (x = option_at(all[i], k)) != NULL; k++)
			add_fish_option(b, tw_command_name(all[i]), x);
	}
	tw_buf_adds(b, "for program in " DAEMONS "\n"
		       "\tcomplete -c $program -a \"($program" LIST_OPTIONS ")\"\nend\n");
}

typedef void write_fn(struct tw_buf *b);

static const struct {
	const char *name;
	write_fn *write;
} shells[] = {
	{ "bash", write_bash },
	{ "fish", write_fish },
	{ "zsh", write_zsh },
};

/* NULL: another shell. */
static write_fn *writer_of(const char *shell)
{
	for (size_t i = 0; i < TW_COUNT(shells); i++)
		if (strcmp(shells[i].name, shell) == 0)
			return shells[i].write;
	return NULL;
}

static int take_operands(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	if (tw_command_operand(operand, count, "bash, fish or zsh", &c->shell, err) < 0)
		return -1;
	return writer_of(c->shell) != NULL
		       ? 0
		       : tw_fail(err, TW_INVALID,
				 "no shell '%.64s', want bash, fish or zsh", c->shell);
}

static int completion(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_buf b = { 0 };

	(void)err;
	writer_of(c->shell)(&b);
	tw_command_print(&b);
	return 0;
}

const struct tw_command tw_command_completion = {
	.opts = &opts,
	.config_size = sizeof(struct config),
	.operands = take_operands,
	.work = completion,
};
