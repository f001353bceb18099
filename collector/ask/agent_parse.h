/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_AGENT_PARSE_H
#define TW_COLLECTOR_AGENT_PARSE_H

/*
 * Parser of a collector's answer to GET /api/v1/power?level=node,...: the energy of its
 * node, pods, containers and virtual machines, exact to the microjoule.
 *
 * The answer is hostile until it was parsed whole: rows, texts and nesting are limited,
 * and a control character or a byte outside ASCII in a text becomes '?'.
 */

#include "lib/ask/ask.h"

#include <stddef.h>

/* Workloads and zones of one answer. More are counted, and left out. */
#define TW_AGENT_ROWS_MAX 8192

struct tw_agent_rows {
	struct tw_ask_row *at;
	size_t count, size;
	struct tw_ask_answer answer; /* without took_ms */
};

/*
 * Parse data[0..len). Rows of levels that are not aggregated are skipped. On failure *out
 * has no rows. Its memory is used again: tw_agent_rows_release() frees it.
 */
int tw_agent_parse(const char *data, size_t len, struct tw_agent_rows *out,
		   struct tw_err *err);

void tw_agent_rows_release(struct tw_agent_rows *r);

#endif /* TW_COLLECTOR_AGENT_PARSE_H */
