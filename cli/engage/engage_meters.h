/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_ENGAGE_METERS_H
#define TW_CLI_ENGAGE_METERS_H

/* The meters that a tw-collector reads, from its metrics: those of the recording. */

#include <stdbool.h>
#include <stddef.h>

struct tw_energy_source;
struct tw_err;
struct tw_page;

/* A zone of a meter. Longer texts are cut off. */
struct tw_engage_meter {
	char source[64], zone[16], name[64], path[256], reason[96];
	bool energy;     /* it counts energy; else it reports power */
	double window_s; /* the time that it averages; 0: unknown */
	double watts;    /* NaN: it had no power */
};

/* All zero bytes: none. */
struct tw_engage_meters {
	struct tw_engage_meter *at;
	size_t count, size;
	double ticks;  /* of the collector */
	char rule[16]; /* how it divides package energy; "": it has none */
};

/* Read an answer of /metrics. *out must be all zero; it is yours, also on failure. */
int tw_engage_meters_read(const char *text, size_t len, struct tw_engage_meters *out,
			  struct tw_err *err);
void tw_engage_meters_release(struct tw_engage_meters *m);

/* Whether any zone has power. */
bool tw_engage_meters_measure(const struct tw_engage_meters *m);

/* Whether a zone has power to learn from: of the source, or if it is NULL, measured. */
bool tw_engage_meters_teach(const struct tw_engage_meters *m,
			    const struct tw_energy_source *source);

/* The source of a user's own meter, which is no known name; NULL without such a meter. It
 * lives as long as m. */
const char *tw_engage_meters_own(const struct tw_engage_meters *m);

/* The sum of a kind of zone; NaN without power. */
double tw_engage_meters_watts(const struct tw_engage_meters *m, const char *zone);

/* Add a table of them. */
void tw_engage_meters_add(const struct tw_engage_meters *m, struct tw_page *p);

#endif /* TW_CLI_ENGAGE_METERS_H */
