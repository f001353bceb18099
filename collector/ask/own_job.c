/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/own_job.h"

#include "lib/core/err.h"

#define BACKOFF_MAX_MS 60000

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

uint64_t tw_own_job_end_round(struct tw_own_job *j, const struct tw_value *v,
			      const struct tw_err *why)
{
	struct tw_ask_state *s = &j->state;

	if (v != NULL) {
		s->failures = 0;
		return tw_own_job_send(j, v) ? s->interval_ms : 0;
	}
	s->failures++;
	if (!tw_own_job_send_missing(j, why))
		return 0;
	return tw_ask_backoff_ms(s->failures, s->interval_ms,
				 s->interval_ms > BACKOFF_MAX_MS ? s->interval_ms
								 : BACKOFF_MAX_MS);
}
