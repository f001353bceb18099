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
 * Put what the files say into the environment, from where options take it (lib/opt.h).
 * keys is ended by NULL; a file that is not there is fine. Before threads are started.
 */
int tw_kepler_keys_load(const char *const *keys, struct tw_err *err);

#endif /* TW_KEPLER_KEY_H */
