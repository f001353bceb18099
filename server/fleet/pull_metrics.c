/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of pulled pipelines. */
#include "lib/core/array.h"
#include "lib/http/server/expo.h"
#include "server/fleet/pull.h"

#include <stdbool.h>
#include <stdlib.h>

enum { PULL_STATE, PULL_FAILURES };

static const struct tw_expo_family pull_families[] = {
	[PULL_STATE] = { "tw_pull_state", TW_EXPO_GAUGE, NULL,
			 "1 for the current state of the pull of a pipeline." },
	[PULL_FAILURES] = { "tw_pull_failures_total", TW_EXPO_COUNTER, NULL,
			    "How often that failed, by reason." },
};

#define PULL(name, type, unit, help, member) \
	TW_EXPO_ROW("tw_pull_" name, type, unit, help, struct tw_pull_status, member, 1)

static const struct tw_expo_row requests[] = {
	PULL("attempts_total", TW_EXPO_COUNTER, NULL, "Requests to the source.",
	     attempts),
};

static const struct tw_expo_row versions[] = {
	PULL("taken_total", TW_EXPO_COUNTER, NULL, "Versions that were published.",
	     taken),
	PULL("bytes_total", TW_EXPO_COUNTER, "bytes", "Bytes of complete downloads.",
	     bytes),
};

/* Exported once the source has confirmed a version; the first row for rollouts only. */
static const struct tw_expo_row confirmed[] = {
	PULL("rollout_next", TW_EXPO_GAUGE, NULL,
	     "1 if this replica took the next version of a rollout, 0 if the stable one.",
	     next),
	PULL("confirmed_timestamp_seconds", TW_EXPO_GAUGE, "seconds",
	     "Time at which the source last confirmed the published version.",
	     confirmed_s),
};

static void label_pull(struct tw_labels *l, const struct tw_pull_status *s)
{
	l->count = 0;
	tw_labels_add(l, "pipeline", s->pipeline);
	tw_labels_add(l, "from", s->from);
}

static bool shows(const struct tw_pull_status *s, const struct tw_expo_row *row)
{
	if (row == &confirmed[0])
		return s->rollout && s->confirmed_s != 0;
	return row != &confirmed[1] || s->confirmed_s != 0;
}

static void write_rows(const struct tw_pull_status *s, size_t count,
		       const struct tw_expo_row *row, size_t rows, struct tw_expo *e)
{
	for (size_t r = 0; r < rows; r++) {
		tw_expo_family(e, &row[r].family);
		for (size_t i = 0; i < count; i++) {
			struct tw_labels l;

			label_pull(&l, &s[i]);
			if (shows(&s[i], &row[r]))
				tw_expo_number(e, &row[r], &l, &s[i]);
		}
	}
}

static void write_labelled(const struct tw_pull_status *s, const char *name,
			   const char *value, uint64_t number, struct tw_expo *e)
{
	struct tw_labels l;

	label_pull(&l, s);
	tw_labels_add(&l, name, value);
	tw_expo_count(e, l.at, l.count, number);
}

static void write_pull_families(const struct tw_pull_status *s, size_t count,
				struct tw_expo *e)
{
	tw_expo_family(e, &pull_families[PULL_STATE]);
	for (size_t i = 0; i < count * TW_PULL_STATES; i++) {
		const struct tw_pull_status *of = &s[i / TW_PULL_STATES];
		const enum tw_pull_state state = (enum tw_pull_state)(i % TW_PULL_STATES);

		write_labelled(of, "state", tw_pull_state_name(state), of->state == state,
			       e);
	}
	write_rows(s, count, requests, TW_COUNT(requests), e);
	tw_expo_family(e, &pull_families[PULL_FAILURES]);
	for (size_t i = 0; i < count; i++) {
		write_labelled(&s[i], "reason", "failed", s[i].failures, e);
		write_labelled(&s[i], "reason", "refused", s[i].refusals, e);
	}
	write_rows(s, count, versions, TW_COUNT(versions), e);
	write_rows(s, count, confirmed, TW_COUNT(confirmed), e);
}

void tw_pulls_write(struct tw_pulls *p, struct tw_expo *e)
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
	write_pull_families(s, count, e);
	free(s);
}

void tw_pulls_list_metrics(struct tw_buf *out)
{
	static const struct tw_expo_table all[] = {
		TW_EXPO_TABLE(pull_families),
		TW_EXPO_TABLE(requests),
		TW_EXPO_TABLE(versions),
		TW_EXPO_TABLE(confirmed),
		{ .first = NULL },
	};

	tw_expo_list(out, all);
}
