/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_PROFILE_H
#define TW_TRAINER_TRAIN_PROFILE_H

/*
 * profile.json of a pipeline (profiler/profile.h): what its machines drew at rest, and
 * how far their features reached.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_isolation;
struct tw_profile;
struct tw_train_data;

/* What one data says, while it has its columns; *out, empty, is its place for that. */
int tw_train_profile_data(const struct tw_train_data *d, struct tw_profile *out,
			  struct tw_err *err);

/*
 * Add the file, from the profiles of all data. Rest is what the isolation knows of it;
 * else the 5 % of the rows with the least use, 1 at least, of the last group in order of
 * name.
 */
int tw_train_profile(const struct tw_train_data *data, size_t count,
		     const struct tw_isolation *isolation, struct tw_fileset *out,
		     struct tw_err *err);

#endif /* TW_TRAINER_TRAIN_PROFILE_H */
