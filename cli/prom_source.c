/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prom_source.h"

#include "lib/core/date.h"
#include "lib/core/err.h"

#include <stddef.h>
#include <time.h>

int tw_prom_source_range(const struct tw_prom_source *s, struct tw_prom_range *out,
			 struct tw_err *err)
{
	struct tw_prom_range range = { .end_ms = (int64_t)time(NULL) * 1000 };

	if (s->end != NULL && tw_parse_date_ms(s->end, &range.end_ms, err) < 0)
		return tw_err_wrap(err, "--end");
	if (s->start != NULL) {
		if (tw_parse_date_ms(s->start, &range.start_ms, err) < 0)
			return tw_err_wrap(err, "--start");
	} else if (s->last_ms > (uint64_t)range.end_ms) {
		return tw_fail(err, TW_INVALID, "--last reaches before 1970");
	} else {
		range.start_ms = range.end_ms - (int64_t)s->last_ms;
	}
	if (range.start_ms > range.end_ms)
		return tw_fail(err, TW_INVALID, "the start is after the end");
	*out = range;
	return 0;
}

struct tw_prom_client_config tw_prom_source_client(const struct tw_prom_source *s,
						   const struct tw_credentials *access,
						   void (*say)(const char *text))
{
	return (struct tw_prom_client_config){ .url = s->server,
					       .access = access->access,
					       .timeout_ms = s->timeout_ms,
					       .retry_ms = s->retry_ms,
					       .answer_max = s->answer_max,
					       .accept_partial = s->partial != 0,
					       .say = say };
}
