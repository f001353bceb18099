/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_RIGHTS_H
#define TW_TRAINER_RIGHTS_H

/*
 * Which user may train into which pipeline (docs/tw-trainer.md, "Rights"). A rule is
 * "USER=PATTERN,..", with patterns of fnmatch(3) for names of pipelines. With rules, a
 * user may train into the pipelines of its rules, whoever published them. Without rules,
 * a user may train into new pipelines and into its own.
 */

struct tw_err;
struct tw_strs;

/* Check the form of the rules. */
int tw_rights_check_rules(const struct tw_strs *rules, struct tw_err *err);

/*
 * Whether the user may train into a pipeline that may not exist yet. user NULL: the
 * trainer has no users. TW_DENIED if not.
 */
int tw_rights_check_name(const struct tw_strs *rules, const char *user,
			 const char *pipeline, struct tw_err *err);

/*
 * Whether the user may add to a published pipeline. owner: the user whose training
 * published it first; NULL: it is not known.
 */
int tw_rights_check_owner(const struct tw_strs *rules, const char *user,
			  const char *pipeline, const char *owner, struct tw_err *err);

#endif /* TW_TRAINER_RIGHTS_H */
