/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/command.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/program/suggest.h"

#include <string.h>

static const struct tw_command *const commands[] = {
	&tw_command_calibrate, &tw_command_check,    &tw_command_completion,
	&tw_command_engage,    &tw_command_estimate, &tw_command_explain,
	&tw_command_export,    &tw_command_extract,  &tw_command_import,
	&tw_command_isolate,   &tw_command_merge,    &tw_command_models,
	&tw_command_plan,      &tw_command_plot,     &tw_command_probe,
	&tw_command_profile,   &tw_command_publish,  &tw_command_query,
	&tw_command_record,    &tw_command_rollback, &tw_command_spec,
	&tw_command_top,       &tw_command_train,    &tw_command_train_machines,
	&tw_command_trainers,  &tw_command_validate,
};

const struct tw_command *const *tw_commands(size_t *count)
{
	*count = TW_COUNT(commands);
	return commands;
}

static int fail_unknown(const char *name, struct tw_err *err)
{
	const char *best = NULL;

	for (size_t i = 0; i < TW_COUNT(commands); i++)
		tw_suggest(name, commands[i]->name, &best);
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
		if (strncmp(commands[i]->name, name, len) == 0)
			tw_buf_addf(&names, "%s%s", names.len > 0 ? ", " : "",
				    commands[i]->name);
	tw_fail(err, TW_INVALID, "ambiguous command '%.64s': %s", name,
		tw_buf_failed(&names) ? "" : names.data);
	tw_buf_clear(&names);
	return -1;
}

int tw_command_find(const char *name, const struct tw_command **out, struct tw_err *err)
{
	const size_t len = strlen(name);
	const struct tw_command *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < TW_COUNT(commands); i++) {
		if (len == 0 || strncmp(commands[i]->name, name, len) != 0)
			continue;
		if (commands[i]->name[len] == '\0') {
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
