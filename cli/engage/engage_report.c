/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/engage_report.h"

#include "cli/engage/engage_meters.h"
#include "cli/engage/report_page.h"
#include "cli/memory.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"
#include "model-db/fitness.h"
#include "model-db/model.h"
#include "model-db/report/card.h"
#include "model-db/report/svg.h"
#include "model-db/validation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL 160
#define MEASURED "#3a80c4"
#define PREDICTED "#e8743b"

/* Full load draws at least this share more than rest, else the meter did not move. */
#define RISE_MIN 0.05

/* "12.3", or "-" if it is not known. */
static const char *figure(char out[CELL], double v, int decimals)
{
	if (isfinite(v))
		snprintf(out, CELL, "%.*f", decimals, v);
	else
		snprintf(out, CELL, "-");
	return out;
}

/* ---- means by workload ---- */

/* Mean watts of all runs of a workload; NaN without rows. */
static struct tw_engage_mean mean_of(const struct tw_engage_rows *rows,
				     const struct tw_workload_runs *runs,
				     const char *name)
{
	struct tw_engage_mean all = { 0 };

	for (size_t i = 0; i < runs->count; i++) {
		struct tw_engage_mean m;

		if (strcmp(runs->names.at[runs->run[i].name], name) != 0)
			continue;
		m = tw_engage_rows_mean(rows, runs->run[i].from_ms, runs->run[i].to_ms);
		if (m.rows == 0)
			continue;
		all.rows += m.rows;
		all.watts += m.watts * (double)m.rows;
		all.cpus += m.cpus * (double)m.rows;
	}
	all.watts /= (double)all.rows;
	all.cpus /= (double)all.rows;
	return all;
}

void tw_engage_summary(const struct tw_engage_rows *rows,
		       const struct tw_workload_runs *runs, struct tw_buf *out)
{
	char rest[CELL], full[CELL];

	tw_buf_addf(out, "%s of %s: %s W %s, %s W under full load",
		    tw_component_name(rows->component), rows->source->name,
		    figure(rest, mean_of(rows, runs, "rest").watts, 1),
		    rows->quality.rest_s > 0 ? "at rest"
					     : "in phases of rest that never rested",
		    figure(full, mean_of(rows, runs, "cpu-100").watts, 1));
	if (rows->quality.lag_corrected_s != 0)
		tw_buf_addf(out, "; power %s load by %.1f s, which is corrected",
			    rows->quality.lag_corrected_s > 0 ? "follows" : "precedes",
			    fabs(rows->quality.lag_corrected_s));
}

/* ---- power interfaces ---- */

/* The meters that were looked for in vain. */
static void add_missing_meters(struct tw_page *p, const json_t *probe)
{
	static const char *const head[] = { "meter", "why it is missing" };
	const json_t *m;
	size_t i;

	tw_page_table(p, head, TW_COUNT(head));
	json_array_foreach(json_object_get(probe, "meters"), i, m)
		if (!json_is_true(json_object_get(m, "there")))
			tw_page_row(p, (const char *const[]){
					       tw_json_text_or(m, "name", ""),
					       tw_json_text_or(m, "why", "") });
	tw_page_table_end(p);
}

static void add_zones(struct tw_page *p, const json_t *probe)
{
	static const char *const head[] = { "meter",       "zone",   "name",
					    ">W at probe", "covers", "note" };
	const json_t *m, *z;
	size_t i, k, zones = 0;

	json_array_foreach(json_object_get(probe, "meters"), i, m)
		zones += json_array_size(json_object_get(m, "zones"));
	if (zones == 0) {
		tw_page_text(p, "The probe of this machine found no zone.");
		return;
	}
	tw_page_text(p, "The probe of this machine found these zones.");
	tw_page_table(p, head, TW_COUNT(head));
	json_array_foreach(json_object_get(probe, "meters"), i, m)
		json_array_foreach(json_object_get(m, "zones"), k, z) {
			char watts[CELL];

			tw_page_row(p,
				    (const char *const[]){
					    tw_json_text_or(m, "name", ""),
					    tw_json_text_or(z, "zone", ""),
					    tw_json_text_or(z, "name", ""),
					    figure(watts,
						   tw_json_number_or(z, "watts", NAN), 1),
					    tw_json_text_or(z, "covers", ""),
					    tw_json_text_or(z, "note", "") });
		}
	tw_page_table_end(p);
}

/* Power that the collector measures at the inlet, and power of the parts behind it. */
static void add_whole(struct tw_buf *b, const struct tw_engage_meters *m)
{
	static const char *const inside[] = { "package", "dram", "gpu" };
	const double whole_w = tw_engage_meters_watts(m, "platform");
	double parts_w = 0;
	bool any = false;

	for (size_t i = 0; i < TW_COUNT(inside); i++) {
		const double w = tw_engage_meters_watts(m, inside[i]);

		any = any || isfinite(w);
		parts_w += isfinite(w) ? w : 0;
	}
	if (any && isfinite(whole_w))
		tw_buf_addf(b,
			    "The collector's platform: package, dram and gpu, %.1f W, %s "
			    "the whole, %.1f W\n",
			    parts_w, parts_w <= whole_w ? "fit into" : "are MORE than",
			    whole_w);
}

static void add_sums(struct tw_page *p, const struct tw_engage_report *r)
{
	const json_t *sums = json_object_get(r->probe, "sums"), *s;
	struct tw_buf b = { 0 };
	size_t i;

	add_whole(&b, r->meters);
	json_array_foreach(sums, i, s)
		tw_buf_addf(&b, "%s of %s: parts %.1f W %s the whole, %.1f W\n",
			    tw_json_text_or(s, "whole", ""),
			    tw_json_text_or(s, "meter", ""),
			    tw_json_number_or(s, "parts_watts", NAN),
			    json_is_true(json_object_get(s, "fits")) ? "fit into"
								     : "are MORE than",
			    tw_json_number_or(s, "whole_watts", NAN));
	if (b.len == 0)
		tw_buf_adds(&b,
			    "No zone is a part of another: nothing can be added up.\n");
	tw_page_lines(p, b.data);
	tw_buf_clear(&b);
}

static void add_interfaces(struct tw_page *p, const struct tw_engage_report *r)
{
	const json_t *probe = r->probe;

	tw_page_heading(p, "Power interfaces");
	tw_page_text(p, "The recording is of the zones that tw-collector reads.");
	tw_engage_meters_add(r->meters, p);
	add_zones(p, probe);
	tw_page_heading(p, "Whether the parts add up to the whole");
	add_sums(p, r);
}

/* ---- the recording ---- */

static void add_phases(struct tw_page *p, const struct tw_engage_report *r)
{
	static const char *const head[] = { "workload", ">start, s", ">length, s",
					    ">rows",    ">W",        ">busy CPUs" };

	tw_page_table(p, head, TW_COUNT(head));
	for (size_t i = 0; i < r->runs->count; i++) {
		const struct tw_workload_run *run = &r->runs->run[i];
		const struct tw_engage_mean m =
			tw_engage_rows_mean(r->rows, run->from_ms, run->to_ms);
		char cell[5][CELL];

		snprintf(cell[2], CELL, "%zu", m.rows);
		tw_page_row(
			p,
			(const char *const[]){
				r->runs->names.at[run->name],
				figure(cell[0],
				       (double)(run->from_ms - r->runs->run[0].from_ms) /
					       1e3,
				       0),
				figure(cell[1], (double)(run->to_ms - run->from_ms) / 1e3,
				       1),
				cell[2], figure(cell[3], m.watts, 2),
				figure(cell[4], m.cpus, 2) });
	}
	tw_page_table_end(p);
}

/* Measured and predicted power against x; predictions are those of the validation. */
static int add_power_chart(struct tw_page *p, const char *name, struct tw_svg_chart chart,
			   const double *x, const struct tw_engage_report *r,
			   struct tw_err *err)
{
	const struct tw_dataset *v = r->validation, *d = &r->rows->data;
	const double *watts =
		v != NULL ? tw_dataset_find(v, tw_validation_column(r->rows->component))
			  : NULL;
	double *predicted = tw_must(calloc(d->rows + 1, sizeof(*predicted)));
	struct tw_svg_series series[2];
	const bool line = chart.band_count > 0;
	int rc;

	for (size_t i = 0, k = 0; i < d->rows; i++) {
		while (watts != NULL && k < v->rows && v->time_ms[k] < d->time_ms[i])
			k++;
		predicted[i] =
			watts != NULL && k < v->rows && v->time_ms[k] == d->time_ms[i]
				? watts[k]
				: (double)NAN;
	}
	series[0] = (struct tw_svg_series){ "measured", MEASURED,       line,
					    x,          r->rows->watts, d->rows };
	series[1] = (struct tw_svg_series){ "predicted", PREDICTED, line,
					    x,           predicted, d->rows };
	chart.y_label = "power (W)";
	chart.zero_x = chart.zero_y = true;
	chart.series = series;
	chart.count = watts != NULL ? 2 : 1;
	rc = tw_page_chart(p, name, &chart, err);
	free(predicted);
	return rc;
}

static int add_time_chart(struct tw_page *p, const struct tw_engage_report *r,
			  struct tw_err *err)
{
	const struct tw_dataset *d = &r->rows->data;
	const int64_t start_ms = d->rows > 0 ? d->time_ms[0] : 0;
	double *minutes = tw_must(calloc(d->rows + 1, sizeof(*minutes)));
	struct tw_svg_band *band = tw_must(calloc(r->runs->count + 1, sizeof(*band)));
	int rc;

	for (size_t i = 0; i < d->rows; i++)
		minutes[i] = (double)(d->time_ms[i] - start_ms) / 6e4;
	for (size_t i = 0; i < r->runs->count; i++)
		band[i] = (struct tw_svg_band){
			.name = r->runs->names.at[r->runs->run[i].name],
			.from = (double)(r->runs->run[i].from_ms - start_ms) / 6e4,
			.to = (double)(r->runs->run[i].to_ms - start_ms) / 6e4
		};
	rc = add_power_chart(p, "power-time",
			     (struct tw_svg_chart){ .title = "Power over time",
						    .x_label = "time (minutes)",
						    .bands = band,
						    .band_count = r->runs->count },
			     minutes, r, err);
	free(minutes);
	free(band);
	return rc;
}

static int add_load_chart(struct tw_page *p, const struct tw_engage_report *r,
			  struct tw_err *err)
{
	const size_t rows = r->rows->data.rows;
	double *cpus;
	int rc;

	if (r->rows->cpu_ms == NULL) {
		tw_page_text(p, "The recording has no CPU time.");
		return 0;
	}
	cpus = tw_must(calloc(rows + 1, sizeof(*cpus)));
	for (size_t i = 0; i < rows; i++)
		cpus[i] = r->rows->cpu_ms[i] / 1e3;
	rc = add_power_chart(p, "power-load",
			     (struct tw_svg_chart){ .title = "Power over load",
						    .x_label = "busy CPUs" },
			     cpus, r, err);
	free(cpus);
	return rc;
}

static int add_recording(struct tw_page *p, const struct tw_engage_report *r,
			 struct tw_err *err)
{
	struct tw_buf quality = { 0 };

	tw_page_heading(p, "Recording");
	add_phases(p, r);
	if (add_time_chart(p, r, err) < 0)
		return -1;
	tw_page_heading(p, "Power over load");
	if (add_load_chart(p, r, err) < 0)
		return -1;
	if (r->validation != NULL)
		tw_page_text(p, "Each predicted value is of a model that was trained "
				"without the block of time of that row.");
	tw_page_heading(p, "Quality of the recording");
	tw_quality_to_text(&r->rows->quality, &quality);
	tw_page_lines(p, quality.data);
	tw_buf_clear(&quality);
	return 0;
}

/* ---- models ---- */

static void add_trained(struct tw_page *p, const struct tw_train_result *t)
{
	static const char *const head[] = { "source",  "output",   "group",  "trainer",
					    ">MAE, W", ">MAPE, %", "failure" };

	tw_page_table(p, head, TW_COUNT(head));
	for (size_t i = 0; i < t->rows; i++) {
		const struct tw_train_row *row = &t->row[i];
		char mae[CELL], mape[CELL];
		const bool good = row->failure[0] == '\0';

		tw_page_row(p, (const char *const[]){
				       row->source, row->output, row->group, row->trainer,
				       figure(mae, good ? row->mae_w : (double)NAN, 3),
				       figure(mape,
					      good ? row->mape_percent : (double)NAN, 2),
				       row->failure });
	}
	tw_page_table_end(p);
}

static void add_workload_errors(struct tw_page *p, const struct tw_engage_report *r,
				const json_t *metadata)
{
	static const char *const head[] = { "workload", ">W", ">MAE when left out, W",
					    ">%" };
	const char *component = tw_component_name(r->rows->component);
	const json_t *names = json_object_get(metadata, "workload_names"), *maes, *name;
	char key[96], cell[3][CELL];
	size_t i;

	snprintf(key, sizeof(key), "%s_workload_maes", component);
	maes = json_object_get(metadata, key);
	if (!json_is_array(maes)) {
		tw_page_text(p, "Not known: the workloads could not be left out.");
		return;
	}
	tw_page_text(p, "Each workload is predicted by a model that was trained without "
			"it: the error to expect of a new workload.");
	tw_page_table(p, head, TW_COUNT(head));
	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);
		const double watts = mean_of(r->rows, r->runs, text).watts;
		const double mae = json_number_value(json_array_get(maes, i));

		tw_page_row(p, (const char *const[]){
				       text, figure(cell[0], watts, 2),
				       figure(cell[1], mae, 3),
				       figure(cell[2], 100 * mae / watts, 1) });
	}
	snprintf(key, sizeof(key), "%s_workload_mae", component);
	tw_page_row(p, (const char *const[]){
			       "all", "-",
			       figure(cell[0], tw_json_number_or(metadata, key, NAN), 3),
			       "-" });
	tw_page_table_end(p);
}

/* "yes", "no", or "not tested". */
static const char *passed(const json_t *metadata, const char *key)
{
	const json_t *v = json_object_get(metadata, key);

	return json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "not tested";
}

static void add_certificate(struct tw_page *p, const json_t *metadata)
{
	static const char *const head[] = { "property", "holds" };
	const char *refused = tw_json_text_or(metadata, TW_CERTIFICATE_REFUSED, "");

	tw_page_heading(p, "Certificate");
	tw_page_table(p, head, TW_COUNT(head));
	for (size_t i = 0; i < TW_CARD_TESTS; i++)
		tw_page_row(p, (const char *const[]){
				       tw_card_tests[i].title,
				       passed(metadata, tw_card_tests[i].key) });
	tw_page_table_end(p);
	if (refused[0] != '\0') {
		char line[CELL * 2];

		snprintf(line, sizeof(line), "Refused: %s.", refused);
		tw_page_text(p, line);
	}
}

static void add_models(struct tw_page *p, const struct tw_engage_report *r)
{
	const struct tw_model_info *i;
	char line[512];

	tw_page_heading(p, "Models");
	tw_page_text(p,
		     "Errors are those of blocks of time that the models did not see.");
	add_trained(p, r->trained);
	tw_page_heading(p, "Chosen model");
	if (r->chosen == NULL) {
		snprintf(line, sizeof(line), "No model: %s.", r->why_none);
		tw_page_text(p, line);
		return;
	}
	i = tw_power_model_info(r->chosen);
	snprintf(line, sizeof(line),
		 "%s of %s, %s, %s: mean error %.3f W on blocks of time, pipeline %s.",
		 i->name, i->source->name, tw_output_name(i->output), i->group->name,
		 i->mae_w, r->pipeline);
	tw_page_text(p, line);
	tw_page_heading(p, "Errors by workload");
	add_workload_errors(p, r, i->metadata);
	add_certificate(p, i->metadata);
}

/* ---- advice ---- */

static void add_rise(struct tw_buf *b, const struct tw_engage_report *r)
{
	const double rest_w = mean_of(r->rows, r->runs, "rest").watts;
	const double full_w = mean_of(r->rows, r->runs, "cpu-100").watts;

	if (isfinite(rest_w) && isfinite(full_w) && full_w < rest_w * (1 + RISE_MIN))
		tw_buf_addf(b,
			    "The meter hardly moved: %.1f W at rest, %.1f W under full "
			    "load. Check that it measures this machine.\n",
			    rest_w, full_w);
}

static void add_advice(struct tw_page *p, const struct tw_engage_report *r)
{
	json_t *quality = tw_quality_to_json(&r->rows->quality);
	struct tw_buf b = { 0 };
	const json_t *line;
	size_t i;

	add_rise(&b, r);
	json_array_foreach(json_object_get(r->probe, "advice"), i, line)
		tw_buf_addf(&b, "%s\n", json_string_value(line));
	json_array_foreach(json_object_get(quality, "warnings"), i, line)
		tw_buf_addf(&b, "%s\n", json_string_value(line));
	if (r->chosen == NULL)
		tw_buf_addf(&b, "No model serves this machine: %s\n", r->why_none);
	tw_page_heading(p, "Missing, and how to get it");
	tw_page_lines(p, b.data);
	add_missing_meters(p, r->probe);
	tw_page_heading(p, "Warnings of the recording");
	tw_page_text(p, "Other programs disturb the recording. If they matter, end them, "
			"remove this directory, and run tallywatt engage again.");
	tw_page_lines(p, r->warnings);
	tw_buf_clear(&b);
	json_decref(quality);
}

/* The result in a line, before all details. */
static void add_verdict(struct tw_page *p, const struct tw_engage_report *r)
{
	char line[512];

	if (r->chosen == NULL) {
		snprintf(line, sizeof(line),
			 "No model serves this machine: %s. See \"Missing, and how to "
			 "get it\".",
			 r->why_none);
	} else {
		const struct tw_model_info *i = tw_power_model_info(r->chosen);

		snprintf(line, sizeof(line),
			 "Its model is %s of %s, with a mean error of %.2f W on blocks "
			 "of time that it did not see.",
			 i->name, i->source->name, i->mae_w);
	}
	tw_page_text(p, line);
}

int tw_engage_report_write(const struct tw_engage_report *r, struct tw_err *err)
{
	struct tw_page p = { .dir = r->dir };
	struct tw_buf summary = { 0 };
	char line[256];
	int rc = -1;

	tw_page_begin(&p, "Power model of this machine");
	snprintf(line, sizeof(line), "%.100s, %u logical CPUs.",
		 r->spec->processor[0] != '\0' ? r->spec->processor : "unknown processor",
		 r->spec->cores);
	tw_page_text(&p, line);
	tw_engage_summary(r->rows, r->runs, &summary);
	tw_buf_adds(&summary, ".");
	tw_page_text(&p, summary.data != NULL ? summary.data : "");
	add_verdict(&p, r);
	add_interfaces(&p, r);
	if (add_recording(&p, r, err) < 0)
		goto out;
	add_models(&p, r);
	add_advice(&p, r);
	if (tw_page_write(&p, "report", err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&summary);
	tw_page_release(&p);
	return rc;
}
