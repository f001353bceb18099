/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_PREDICTOR_LOAD_H
#define TW_TEST_PREDICTOR_LOAD_H

struct tw_err;

/* Load a text into a kind of predictor, for features like "a,b". */
int predictor_load(const char *kind, const char *features, const char *text, void **out,
		   struct tw_err *err);

/* Loading it tells of each allocation that fails. */
void predictor_check_memory(const char *kind, const char *features, const char *text);

#endif /* TW_TEST_PREDICTOR_LOAD_H */
