/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SERVED_H
#define TW_ESTIMATOR_SERVED_H

/*
 * A loaded model that answers requests, and the origin that it was loaded from.
 */

#include "lib/core/num.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_power_model;

/* Where models come from, in order of preference. */
enum tw_origin {
	TW_ORIGIN_SERVER,
	TW_ORIGIN_URL,
	TW_ORIGIN_DB,
	TW_ORIGIN_SHIPPED,
	TW_ORIGIN_COUNT
};

/* "server", "url", "database", "shipped". */
const char *tw_origin_name(enum tw_origin o);

/* Immutable but for its counters. Counted by tw_models_find() and tw_models_release(). */
struct tw_served {
	struct tw_power_model *model;
	/* Cores of this machine / cores of the model's machine, as text; "1": unknown. */
	char core_ratio[TW_DOUBLE_TEXT];
	enum tw_origin origin;
	char *from; /* path, or URL without its password */
	char *zip;  /* the zip that a server or URL sent, if keep_zips is set; or NULL */
	size_t zip_len;
	/* When the origin last confirmed this model, in seconds of the epoch. */
	atomic_int_least64_t confirmed_s;
	/* Used by the models that serve it, under their lock: */
	unsigned refs;
	uint64_t generation; /* of the index that the model was chosen from */
};

/* A model with one reference. p is taken, even on failure. */
int tw_served_new(struct tw_power_model *p, enum tw_origin o, const char *from,
		  uint64_t generation, double core_ratio, struct tw_served **out,
		  struct tw_err *err);

/* Drop a reference; the last one frees the model. NULL is fine. */
void tw_served_unref(struct tw_served *s);

#endif /* TW_ESTIMATOR_SERVED_H */
