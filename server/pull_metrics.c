/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pull_metrics.h"

#include "lib/http/server/expo.h"
#include "server/pull.h"

#include <stdlib.h>

static const struct tw_expo_family state = {
	.name = "tw_pull_state",
	.type = TW_EXPO_GAUGE,
	.help = "1 for the current state of the pull of a pipeline.",
};

static const struct tw_expo_family attempts = {
	.name = "tw_pull_attempts_total",
	.type = TW_EXPO_COUNTER,
	.help = "Requests to the source.",
};

static const struct tw_expo_family failures = {
	.name = "tw_pull_failures_total",
	.type = TW_EXPO_COUNTER,
	.help = "How often that failed, by reason.",
};

static const struct tw_expo_family taken = {
	.name = "tw_pull_taken_total",
	.type = TW_EXPO_COUNTER,
	.help = "Versions that were published.",
};

static const struct tw_expo_family bytes = {
	.name = "tw_pull_bytes_total",
	.type = TW_EXPO_COUNTER,
	.unit = "bytes",
	.help = "Bytes of complete downloads.",
};

static const struct tw_expo_family next = {
	.name = "tw_pull_rollout_next",
	.type = TW_EXPO_GAUGE,
	.help = "1 if this replica took the next version of a rollout, 0 if the stable "
		"one.",
};

static const struct tw_expo_family confirmed = {
	.name = "tw_pull_confirmed_timestamp_seconds",
	.type = TW_EXPO_GAUGE,
	.unit = "seconds",
	.help = "Time at which the source last confirmed the published version.",
};

/* Labels pipeline and from, and room for a third. */
struct labels {
	struct tw_expo_label at[3];
};

static struct labels labels_of(const struct tw_pull_status *s, const char *name,
			       const char *value)
{
	return (struct labels){
		{ { "pipeline", s->pipeline }, { "from", s->from }, { name, value } }
	};
}

static void write_states(const struct tw_pull_status *s, struct tw_expo *e)
{
	for (int k = 0; k < TW_PULL_STATES; k++) {
		const enum tw_pull_state which = (enum tw_pull_state)k;
		const struct labels l = labels_of(s, "state", tw_pull_state_name(which));

		tw_expo_sample(e, l.at, 3, s->state == which ? 1 : 0);
	}
}

static void write_failures(const struct tw_pull_status *s, struct tw_expo *e)
{
	const struct labels failed = labels_of(s, "reason", "failed");
	const struct labels refused = labels_of(s, "reason", "refused");

	tw_expo_count(e, failed.at, 3, s->failures);
	tw_expo_count(e, refused.at, 3, s->refusals);
}

static void write_all(const struct tw_pull_status *s, size_t count, struct tw_expo *e)
{
	tw_expo_family(e, &state);
	for (size_t i = 0; i < count; i++)
		write_states(&s[i], e);
	tw_expo_family(e, &attempts);
	for (size_t i = 0; i < count; i++)
		tw_expo_count(e, labels_of(&s[i], "", "").at, 2, s[i].attempts);
	tw_expo_family(e, &failures);
	for (size_t i = 0; i < count; i++)
		write_failures(&s[i], e);
	tw_expo_family(e, &taken);
	for (size_t i = 0; i < count; i++)
		tw_expo_count(e, labels_of(&s[i], "", "").at, 2, s[i].taken);
	tw_expo_family(e, &bytes);
	for (size_t i = 0; i < count; i++)
		tw_expo_count(e, labels_of(&s[i], "", "").at, 2, s[i].bytes);
	tw_expo_family(e, &next);
	for (size_t i = 0; i < count; i++)
		if (s[i].rollout && s[i].confirmed_s != 0)
			tw_expo_sample(e, labels_of(&s[i], "", "").at, 2, s[i].next);
	tw_expo_family(e, &confirmed);
	for (size_t i = 0; i < count; i++)
		if (s[i].confirmed_s != 0)
			tw_expo_sample(e, labels_of(&s[i], "", "").at, 2,
				       (double)s[i].confirmed_s);
}

void tw_pull_metrics_write(struct tw_pulls *p, struct tw_expo *e)
{
	const size_t count = p != NULL ? tw_pulls_count(p) : 0;
	struct tw_pull_status *s;

	if (count == 0)
		return;
	s = calloc(count, sizeof(*s));
	if (s == NULL)
		return;
	for (size_t i = 0; i < count; i++)
		tw_pulls_at(p, i, &s[i]);
	write_all(s, count, e);
	free(s);
}
