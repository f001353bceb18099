/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_OPT_TEXTS_H
#define TW_CLI_OPT_TEXTS_H

/* The values of options as texts. */

struct tw_err;
struct tw_opts;
struct tw_strs;

/*
 * Append "name=value" for each option whose value is not its default; a list gives one
 * text for each item. tw_opts_read() fills the zeroed config from such texts and the
 * defaults, without the environment and files. TW_INVALID for an unknown name.
 */
int tw_opts_write(const struct tw_opts *o, const void *config, struct tw_strs *out,
		  struct tw_err *err);
int tw_opts_read(const struct tw_opts *o, const struct tw_strs *texts, void *config,
		 struct tw_err *err);

#endif /* TW_CLI_OPT_TEXTS_H */
