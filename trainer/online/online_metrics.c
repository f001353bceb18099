/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/online_metrics.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/json/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tw_online_metrics_init(struct tw_online_metrics *m)
{
	*m = (struct tw_online_metrics){ 0 };
	pthread_mutex_init(&m->lock, NULL);
}

void tw_online_metrics_release(struct tw_online_metrics *m)
{
	pthread_mutex_destroy(&m->lock);
	free(m->node);
}

void tw_online_metrics_set(struct tw_online_metrics *m, size_t i,
			   const struct tw_online_figures *f)
{
	pthread_mutex_lock(&m->lock);
	if (i >= m->nodes) {
		if (!tw_resize(&m->node, i + 1, sizeof(*f)))
			goto out;
		memset(m->node + m->nodes, 0, (i + 1 - m->nodes) * sizeof(*f));
		m->nodes = i + 1;
	}
	m->node[i] = *f;
out:
	pthread_mutex_unlock(&m->lock);
}

void tw_online_metrics_add_samples(struct tw_online_metrics *m, uint64_t samples)
{
	pthread_mutex_lock(&m->lock);
	m->samples += samples;
	pthread_mutex_unlock(&m->lock);
}

void tw_online_metrics_set_behind(struct tw_online_metrics *m, int64_t behind_ms)
{
	pthread_mutex_lock(&m->lock);
	m->behind_ms = behind_ms;
	pthread_mutex_unlock(&m->lock);
}

bool tw_online_metrics_polled(struct tw_online_metrics *m, bool failed,
			      const char *problem)
{
	bool changed;

	pthread_mutex_lock(&m->lock);
	changed = m->down != failed;
	m->down = failed;
	snprintf(m->problem, sizeof(m->problem), "%s", problem);
	m->polls += !failed;
	m->failed_polls += failed;
	pthread_mutex_unlock(&m->lock);
	return changed;
}

void tw_online_metrics_health(struct tw_online_metrics *m, struct tw_buf *out)
{
	size_t glitches = 0, drifting = 0;

	pthread_mutex_lock(&m->lock);
	tw_json_add_object(out, "online");
	tw_json_add_number(out, "behind_seconds", (double)m->behind_ms / 1e3);
	for (size_t i = 0; i < m->nodes; i++) {
		glitches += m->node[i].glitches;
		drifting += m->node[i].serving && m->node[i].drifting;
	}
	tw_json_add_int(out, "glitches", (int64_t)glitches);
	tw_json_add_int(out, "drifting", (int64_t)drifting);
	tw_json_add_text(out, "problem", m->problem[0] != '\0' ? m->problem : NULL);
	tw_json_end_object(out);
	pthread_mutex_unlock(&m->lock);
}

/* ---- exposition ---- */

enum { POLLS, ROWS, VERDICTS };

static const struct tw_expo_family families[] = {
	[POLLS] = { "tw_trainer_online_polls_total", TW_EXPO_COUNTER, NULL,
		    "Readings of Prometheus, by result." },
	[ROWS] = { "tw_trainer_online_window_rows", TW_EXPO_GAUGE, NULL,
		   "Rows in the window, by use." },
	[VERDICTS] = { "tw_trainer_online_verdicts_total", TW_EXPO_COUNTER, NULL,
		       "Decisions about trained models." },
};

static const struct tw_expo_row totals[] = {
	TW_EXPO_ROW("tw_trainer_online_samples_total", TW_EXPO_COUNTER, NULL,
		    "Samples read from Prometheus.", struct tw_online_metrics, samples,
		    1),
	TW_EXPO_ROW("tw_trainer_online_behind_seconds", TW_EXPO_GAUGE, "seconds",
		    "Time of samples that are in Prometheus and were not read yet.",
		    struct tw_online_metrics, behind_ms, 1e3),
};

/* Values of a machine; NAN: no sample. */
struct gauges {
	struct tw_online_figures f;
	double drifting, published_s;
};

#define GAUGE(name, unit, help, member)                                                  \
	TW_EXPO_ROW("tw_trainer_online_" name, TW_EXPO_GAUGE, unit, help, struct gauges, \
		    member, 1)

static const struct tw_expo_row gauges[] = {
	GAUGE("live_error_watts", "watts",
	      "Mean absolute error of the serving model on the last five intervals.",
	      f.live_w),
	GAUGE("live_bias_watts", "watts",
	      "Mean of predicted minus measured power on the last five intervals.",
	      f.bias_w),
	GAUGE("expected_error_watts", "watts",
	      "Error of the serving model on held-out samples when it was trained.",
	      f.expected_w),
	GAUGE("previous_error_watts", "watts",
	      "Error of the previous version of the model on the last five intervals.",
	      f.previous_w),
	GAUGE("drift_ratio", "ratio", "Live error divided by the expected error.",
	      f.drift),
	GAUGE("drifting", NULL, "1 while the serving model drifts, else 0.", drifting),
	GAUGE("published_timestamp_seconds", "seconds",
	      "Time of the last samples when the serving model was published here.",
	      published_s),
	GAUGE("window_segments", NULL, "Segments in the window.", f.segments),
	GAUGE("window_glitches", NULL,
	      "Segments in the window whose power no load explains, which are left out.",
	      f.glitches),
	GAUGE("window_bytes", "bytes", "Size of the window in the store.", f.bytes),
};

const struct tw_expo_table tw_online_families[] = {
	TW_EXPO_TABLE(families),
	TW_EXPO_TABLE(totals),
	TW_EXPO_TABLE(gauges),
	{ .first = NULL },
};

/* Machines without measured power have no window. */
static bool is_shown(const struct tw_online_figures *f)
{
	return f->segments > 0 || f->serving;
}

static void write_gauge(const struct tw_online_metrics *m, const struct tw_expo_row *row,
			struct tw_expo *e)
{
	tw_expo_family(e, &row->family);
	for (size_t i = 0; i < m->nodes; i++) {
		const struct tw_online_figures *f = &m->node[i];
		const struct gauges g = {
			.f = *f,
			.drifting = f->serving ? f->drifting : NAN,
			.published_s = f->published_ms != 0
					       ? (double)f->published_ms / 1e3
					       : NAN,
		};
		const struct tw_labels l = { .at = { { "machine", f->machine } },
					     .count = 1 };

		if (is_shown(f))
			tw_expo_number(e, row, &l, &g);
	}
}

static void write_rows(const struct tw_online_figures *f, struct tw_expo *e)
{
	const struct tw_expo_label label[][2] = {
		{ { "machine", f->machine }, { "use", "train" } },
		{ { "machine", f->machine }, { "use", "held_out" } },
	};

	tw_expo_count(e, label[0], 2, f->rows);
	tw_expo_count(e, label[1], 2, f->held_rows);
}

static void write_verdicts(const struct tw_online_figures *f, struct tw_expo *e)
{
	for (size_t v = 0; v < TW_VERDICTS; v++) {
		const struct tw_expo_label label[] = {
			{ "machine", f->machine },
			{ "verdict", tw_verdict_name((enum tw_verdict)v) },
		};

		tw_expo_count(e, label, 2, f->verdicts[v]);
	}
}

void tw_online_metrics_write(struct tw_online_metrics *m, struct tw_expo *e)
{
	pthread_mutex_lock(&m->lock);
	tw_expo_family(e, &families[POLLS]);
	tw_expo_count_by(e, "result", "ok", m->polls);
	tw_expo_count_by(e, "result", "failed", m->failed_polls);
	tw_expo_numbers(e, totals, TW_COUNT(totals), m);
	for (size_t g = 0; g < TW_COUNT(gauges); g++)
		write_gauge(m, &gauges[g], e);
	tw_expo_family(e, &families[ROWS]);
	for (size_t i = 0; i < m->nodes; i++)
		if (is_shown(&m->node[i]))
			write_rows(&m->node[i], e);
	tw_expo_family(e, &families[VERDICTS]);
	for (size_t i = 0; i < m->nodes; i++)
		if (is_shown(&m->node[i]))
			write_verdicts(&m->node[i], e);
	pthread_mutex_unlock(&m->lock);
}
