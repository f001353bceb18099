/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_ENGAGE_SHARES_H
#define TW_CLI_ENGAGE_SHARES_H

/*
 * The runs of `tallywatt engage --attribution`: workloads of fixed work in each subset,
 * beside a tw-collector with a meter.
 */

#include "cli/engage/shares.h"

#include <stdint.h>

struct tw_err;
struct tw_stop;

struct tw_engage_shares {
	const char *url; /* of the collector */
	uint64_t phase_ms;
	size_t works; /* from 1 to TW_SHARES_MAX */
	unsigned cpus;
	struct tw_stop *stop;
	void (*say)(const char *text); /* called with a line of progress */
};

/*
 * Fill *out, except its rule. TW_IO after a stop signal; TW_NOTFOUND: the collector
 * estimates energy, without a meter.
 */
int tw_engage_shares_run(const struct tw_engage_shares *c, struct tw_shares *out,
			 struct tw_err *err);

#endif /* TW_CLI_ENGAGE_SHARES_H */
