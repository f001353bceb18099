/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/own_job.h"

#include "collector/ask/ask_job.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <stdint.h>
#include <stdio.h>

int tw_own_job_read(const json_t *settings, struct tw_own_job *out, struct tw_err *err)
{
	long long unit, interval_ms, window_ms;

	if (tw_json_int(settings, "settings", "unit", false, 0, TW_UNIT_COUNT - 1, &unit,
			err) < 0 ||
	    tw_json_int(settings, "settings", "interval_ms", false, 1, INT32_MAX,
			&interval_ms, err) < 0 ||
	    tw_json_int(settings, "settings", "window_ms", false, 0, INT32_MAX,
			&window_ms, err) < 0)
		return -1;
	*out = (struct tw_own_job){ (enum tw_unit)unit, (uint64_t)interval_ms,
				    (uint64_t)window_ms };
	return 0;
}

bool tw_own_job_send(const struct tw_own_job *j, int fd, const struct tw_value *v)
{
	struct tw_ask_message m =
		tw_ask_message(tw_unit_is_energy(j->unit) ? TW_ASK_ENERGY : TW_ASK_POWER);

	m.window_ms = j->window_ms;
	m.power_w = v->power_w;
	m.energy_uj = v->energy_uj;
	return tw_ask_send(fd, &m);
}

bool tw_own_job_send_missing(int fd, const struct tw_err *why)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_MISSING);

	snprintf(m.why, sizeof(m.why), "%.*s", (int)sizeof(m.why) - 1, why->text);
	return tw_ask_send(fd, &m);
}
