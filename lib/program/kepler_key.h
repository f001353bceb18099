/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_KEPLER_KEY_H
#define TW_KEPLER_KEY_H

/*
 * Configuration keys of Kepler's model server and estimator (docs/wire.md): environment
 * variables, and files of the same names in the directory CONFIG_PATH (default
 * /etc/kepler/kepler.config). A file overrides the variable.
 */

struct tw_err;

/*
 * Copy the values of existing files into the environment, where the options find them
 * (lib/program/opt.h). keys ends with NULL. Call before threads are started.
 */
int tw_kepler_keys_load(const char *const *keys, struct tw_err *err);

/*
 * If `key` is set and `variable` is not, set `variable` to before + value of key + after.
 * Call after tw_kepler_keys_load().
 */
int tw_kepler_key_default(const char *variable, const char *before, const char *key,
			  const char *after, struct tw_err *err);

/* The keys that locate the model database: MODEL_PATH, MNT_PATH. Ends with NULL. */
extern const char *const tw_kepler_model_db_keys[];

/* Set TW_MODEL_DB, if it is not set, to MODEL_PATH or to "models" below MNT_PATH. */
int tw_kepler_model_db_default(struct tw_err *err);

#endif /* TW_KEPLER_KEY_H */
