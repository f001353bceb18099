/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/own_job.h"

#include "lib/core/err.h"

bool tw_own_job_send(const struct tw_own_job *j, const struct tw_value *v)
{
	struct tw_ask_message m =
		tw_ask_message(tw_unit_is_energy(j->unit) ? TW_ASK_ENERGY : TW_ASK_POWER);

	m.window_ms = j->window_ms;
	m.power_w = v->power_w;
	m.energy_uj = v->energy_uj;
	return tw_ask_send(j->state.fd, &m);
}

bool tw_own_job_send_missing(const struct tw_own_job *j, const struct tw_err *why)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_MISSING);

	tw_ask_copy_reason(m.why, sizeof(m.why), why->text);
	return tw_ask_send(j->state.fd, &m);
}

void tw_own_job_report(void *state, const struct tw_err *why)
{
	tw_own_job_send_missing(state, why);
}
