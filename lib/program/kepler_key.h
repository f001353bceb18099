/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_KEPLER_KEY_H
#define TW_KEPLER_KEY_H

/*
 * Keys that configure the old programs: environment variables, and files of the same
 * names in the directory CONFIG_PATH (default /etc/kepler/kepler.config), which go first
 * (docs/wire.md).
 */

struct tw_err;

/*
 * Put what the files say into the environment, from where options take it
 * (lib/program/opt.h). keys is ended by NULL; a file that is not there is fine. Before
 * threads are started.
 */
int tw_kepler_keys_load(const char *const *keys, struct tw_err *err);

/*
 * Take before + value + behind of an old key as the value of a variable of ours, where
 * that is not set and the key is.
 */
int tw_kepler_key_default(const char *variable, const char *before, const char *key,
			  const char *behind, struct tw_err *err);

/* Ended by NULL: where the model database is, by MODEL_PATH, or below MNT_PATH. */
extern const char *const tw_kepler_model_db_keys[];

/* Those as TW_MODEL_DB, where that is not set. After they are loaded. */
int tw_kepler_model_db_default(struct tw_err *err);

#endif /* TW_KEPLER_KEY_H */
