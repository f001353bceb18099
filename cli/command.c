/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "cli/memory.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/credentials.h"
#include "lib/program/kepler_key.h"
#include "lib/program/suggest.h"
#include "trainer/response/prom_store.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 100000000

int tw_command_operand(char **operand, size_t count, const char *what, const char **out,
		       struct tw_err *err)
{
	if (count != 1)
		return tw_fail(err, TW_INVALID, "%zu operands, want %s", count, what);
	*out = operand[0];
	return 0;
}

bool tw_command_wait(uint64_t since_ms, uint64_t limit_ms)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (tw_now_ms() - since_ms >= limit_ms)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

/* Bytes of the UTF-8 control character at p; 0 if another character is there. */
static size_t control_length(const unsigned char *p, size_t left)
{
	if ((p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f)
		return 1;
	return left > 1 && p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0 ? 2 : 0;
}

/* Texts have names of machines and metrics, which are foreign. */
static void write_escaped(const struct tw_buf *text, FILE *to)
{
	const unsigned char *p = (const unsigned char *)text->data;

	for (size_t i = 0; i < text->len; i++) {
		const size_t len = control_length(p + i, text->len - i);

		if (len == 0) {
			putc(p[i], to);
			continue;
		}
		fprintf(to, "\\x%02x", p[i + len - 1]);
		i += len - 1;
	}
}

void tw_command_print(struct tw_buf *text)
{
	tw_must_have(!tw_buf_failed(text));
	if (isatty(STDOUT_FILENO))
		write_escaped(text, stdout);
	else if (text->len > 0)
		fwrite(text->data, 1, text->len, stdout);
	tw_buf_clear(text);
}

bool tw_command_is_heard(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) < 0 || (out.revents & POLLERR) == 0;
}

int tw_command_write(const struct tw_buf *text, const char *dir, const char *name,
		     struct tw_err *err)
{
	char *path = NULL;
	int rc = -1;

	tw_must_have(!tw_buf_failed(text));
	if ((dir == NULL || tw_path_join(&path, err, dir, name, NULL) == 0) &&
	    tw_file_replace(dir != NULL ? path : name, text->len > 0 ? text->data : "",
			    text->len, err) == 0)
		rc = 0;
	free(path);
	return rc;
}

void tw_command_warn(const struct tw_buf *text)
{
	tw_must_have(!tw_buf_failed(text));
	write_escaped(text, stderr);
}

int tw_command_credentials(struct tw_credentials *w,
			   const struct tw_credentials_config *c, const char *headers_env,
			   const char *program, struct tw_err *err)
{
	if (tw_credentials_open(w, c, headers_env, err) < 0)
		return -1;
	if (c->insecure)
		fprintf(stderr,
			"%s: WARNING: certificates are not verified (--insecure)\n",
			program);
	return 0;
}

static int prepare(const struct tw_command *c, int argc, char **argv, void *config,
		   enum tw_opts_action *action, struct tw_err *err)
{
	int rest;

	if (tw_kepler_keys_load(tw_guest_keys, err) < 0 ||
	    (c->old_keys != NULL && tw_kepler_keys_load(c->old_keys, err) < 0))
		return -1;
	if (tw_opts_parse(c->opts, argc, argv, config, action, &rest, err) < 0)
		return -1;
	if (*action == TW_OPTS_EXIT)
		return 0;
	if (c->operands != NULL &&
	    c->operands(config, argv + rest, (size_t)(argc - rest), err) < 0)
		return -1;
	if (tw_opts_check_required(c->opts, config, err) < 0)
		return -1;
	return c->check != NULL ? c->check(config, err) : 0;
}

static int work(const struct tw_command *c, void *config, struct tw_err *err)
{
	if (c->work(config, err) < 0)
		return -1;
	if ((fflush(stdout) != 0 || ferror(stdout)) && tw_command_is_heard())
		return tw_fail(err, TW_IO, "cannot write to stdout");
	return 0;
}

static int run(const struct tw_command *c, void *config, struct tw_err *err)
{
	const int rc = work(c, config, err);
	const int status = c->status != NULL ? c->status(config) : TW_EXIT_OK;

	return rc < 0 && status == TW_EXIT_OK ? TW_EXIT_FAILED : status;
}

int tw_command_execute(const struct tw_command *c, int argc, char **argv)
{
	void *config = tw_must(calloc(1, c->config_size + 1));
	enum tw_opts_action action = TW_OPTS_EXIT;
	struct tw_err err = { 0 };
	int status = TW_EXIT_USAGE;

	if (prepare(c, argc, argv, config, &action, &err) == 0)
		status = action == TW_OPTS_RUN ? run(c, config, &err) : TW_EXIT_OK;
	if (err.code != TW_OK)
		fprintf(stderr, "%s: %s\n", c->opts->program, err.text);
	if (c->release != NULL)
		c->release(config);
	tw_opts_release(c->opts, config);
	free(config);
	return status;
}

/* ---- the list ---- */

static const struct tw_command *const commands[] = {
	&tw_command_calibrate, &tw_command_check,    &tw_command_completion,
	&tw_command_engage,    &tw_command_estimate, &tw_command_explain,
	&tw_command_export,    &tw_command_extract,  &tw_command_import,
	&tw_command_isolate,
#if TW_FLEET
	&tw_command_merge,
#endif
	&tw_command_models,
#if TW_FLEET
	&tw_command_plan,
#endif
	&tw_command_plot,      &tw_command_probe,    &tw_command_profile,
	&tw_command_publish,   &tw_command_query,    &tw_command_record,
	&tw_command_rollback,  &tw_command_run,      &tw_command_spec,
	&tw_command_top,       &tw_command_train,    &tw_command_trainers,
	&tw_command_unit,      &tw_command_validate,
};

const char *tw_command_name(const struct tw_command *c)
{
	return c->opts->program + strlen("tallywatt ");
}

const struct tw_command *const *tw_commands(size_t *count)
{
	*count = TW_COUNT(commands);
	return commands;
}

static int fail_unknown(const char *name, struct tw_err *err)
{
	const char *best = NULL;

	for (size_t i = 0; i < TW_COUNT(commands); i++)
		tw_suggest(name, tw_command_name(commands[i]), &best);
	if (best != NULL)
		return tw_fail(
			err, TW_NOTFOUND,
			"no command '%.64s'; did you mean '%s'? (--help lists all)", name,
			best);
	return tw_fail(err, TW_NOTFOUND, "no command '%.64s' (--help lists them)", name);
}

static int fail_ambiguous(const char *name, size_t len, struct tw_err *err)
{
	struct tw_buf names = { 0 };

	for (size_t i = 0; i < TW_COUNT(commands); i++)
		if (strncmp(tw_command_name(commands[i]), name, len) == 0)
			tw_buf_addf(&names, "%s%s", names.len > 0 ? ", " : "",
				    tw_command_name(commands[i]));
	tw_must_have(!tw_buf_failed(&names));
	tw_fail(err, TW_INVALID, "ambiguous command '%.64s': %s", name, names.data);
	tw_buf_clear(&names);
	return -1;
}

int tw_command_find(const char *name, const struct tw_command **out, struct tw_err *err)
{
	const size_t len = strlen(name);
	const struct tw_command *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < TW_COUNT(commands); i++) {
		const char *known = tw_command_name(commands[i]);

		if (len == 0 || strncmp(known, name, len) != 0)
			continue;
		if (known[len] == '\0') {
			*out = commands[i];
			return 0;
		}
		found = commands[i];
		count++;
	}
	if (count != 1)
		return count == 0 ? fail_unknown(name, err)
				  : fail_ambiguous(name, len, err);
	*out = found;
	return 0;
}
