/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_NAMES_H
#define TW_TRAINER_NAMES_H

/*
 * Lookup of names from a request or a command line. An unknown name is TW_INVALID; the
 * text quotes it and lists known names. The results are static.
 */

struct tw_energy_source;
struct tw_err;
struct tw_feature_group;
struct tw_isolator;
struct tw_strs;
struct tw_trainer;

/* The isolator if the request or the command line names none. */
#define TW_ISOLATOR_DEFAULT "IdleRegressionIsolator"

int tw_names_trainer(const char *name, const struct tw_trainer **out, struct tw_err *err);
int tw_names_isolator(const char *name, const struct tw_isolator **out,
		      struct tw_err *err);
int tw_names_group(const char *name, const struct tw_feature_group **out,
		   struct tw_err *err);

/*
 * Find the source of the data: an exact name, or a user's own, which is declared
 * (tw_energy_source_open()). NULL, "" and other texts that contain "rapl" mean
 * rapl-sysfs. TW_INVALID for a list with commas.
 */
int tw_names_source(const char *text, const struct tw_energy_source **out,
		    struct tw_err *err);

/* Check that each name is a trainer's and given once. Errors call it `list`. */
int tw_names_trainers(const struct tw_strs *names, const char *list, struct tw_err *err);

#endif /* TW_TRAINER_NAMES_H */
