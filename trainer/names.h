/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_NAMES_H
#define TW_TRAINER_NAMES_H

/*
 * Names that a request or a command line gives, looked up: TW_INVALID with the
 * name and those that are known where there is none.
 */

struct tw_energy_source;
struct tw_err;
struct tw_feature_group;
struct tw_isolator;
struct tw_strs;
struct tw_trainer;

/* What isolates where nobody says. */
#define TW_ISOLATOR_DEFAULT "IdleRegressionIsolator"

int tw_names_trainer(const char *name, const struct tw_trainer **out, struct tw_err *err);
int tw_names_isolator(const char *name, const struct tw_isolator **out,
		      struct tw_err *err);
int tw_names_group(const char *name, const struct tw_feature_group **out,
		   struct tw_err *err);

/* As a client means it: see tw_energy_source_wanted(). */
int tw_names_source(const char *text, const struct tw_energy_source **out,
		    struct tw_err *err);

/* Each is a trainer's name, none is there twice. what: "abs_trainers". */
int tw_names_trainers(const struct tw_strs *names, const char *what, struct tw_err *err);

#endif /* TW_TRAINER_NAMES_H */
