/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_COMMANDS_H
#define TW_CLI_COMMANDS_H

/* The list of all commands. */

#include <stddef.h>

struct tw_command;
struct tw_err;

/* Sorted by name. */
const struct tw_command *const *tw_commands(size_t *count);

/*
 * The command of that name, or the only one that begins with it. TW_NOTFOUND suggests
 * another name; TW_INVALID lists the commands that begin so.
 */
int tw_command_find(const char *name, const struct tw_command **out, struct tw_err *err);

#endif /* TW_CLI_COMMANDS_H */
