/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/calibrate/calibrate_readings.h"

#include "collector/power/node.h"
#include "collector/probe.h"
#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "profiler/load.h"
#include "profiler/workload_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define READINGS_MAX ((size_t)1 << 20)
#define CSV_BYTES_MAX ((size_t)64 << 20)
#define STAT_BYTES_MAX ((size_t)1 << 20)
/* Part of a phase in which the load settles. */
#define SETTLE 5

/* ---- a list ---- */

int tw_reading_list_add(struct tw_reading_list *l, double load, double w, double error,
			struct tw_err *err)
{
	if (l->count == READINGS_MAX)
		return tw_fail(err, TW_INVALID, "more than %zu readings", READINGS_MAX);
	if ((l->count & (l->count - 1)) == 0) {
		const size_t size = l->count > 0 ? 2 * l->count : 1;
		void *more = realloc(l->at, size * sizeof(*l->at));

		if (more == NULL)
			return tw_fail(err, TW_NOMEM, "%zu readings", size);
		l->at = more;
	}
	l->at[l->count++] =
		(struct tw_power_reading){ .load = load, .w = w, .error = error };
	return 0;
}

void tw_reading_list_release(struct tw_reading_list *l)
{
	free(l->at);
	*l = (struct tw_reading_list){ 0 };
}

int tw_reading_list_parse(struct tw_reading_list *l, const char *text, double error,
			  struct tw_err *err)
{
	const char *equals = strchr(text, '=');
	double percent, w;

	if (equals == NULL || !tw_parse_double(text, (size_t)(equals - text), &percent) ||
	    !tw_parse_double(equals + 1, strlen(equals + 1), &w))
		return tw_fail(err, TW_INVALID, "'%.64s': want LOAD=WATTS, as in 50=120",
			       text);
	return tw_reading_list_add(l, percent / 100, w, error, err);
}

/* ---- CSV ---- */

enum column { OTHER, WATTS, LOAD, COLUMNS };

struct csv {
	struct tw_csv_cells cells;
	enum column column[TW_CSV_COLS_MAX];
	size_t columns;
	bool has[COLUMNS];
};

static enum column column_of(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum column column;
	} known[] = { { "watts", WATTS },     { "power", WATTS }, { "power_w", WATTS },
		      { "w", WATTS },         { "cpu", LOAD },    { "load", LOAD },
		      { "cpu_percent", LOAD } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == len &&
		    strncasecmp(known[i].name, name, len) == 0)
			return known[i].column;
	return OTHER;
}

static int read_header(struct csv *c, double load, struct tw_err *err)
{
	do {
		enum column of;

		if (!tw_csv_cells_next(&c->cells, err))
			return tw_fail(err, TW_PARSE, "line 1: a header is missing");
		if (c->columns == TW_CSV_COLS_MAX)
			return tw_fail(err, TW_INVALID, "line 1: more than %d columns",
				       TW_CSV_COLS_MAX);
		of = column_of(c->cells.text, c->cells.text_len);
		if (of != OTHER && c->has[of])
			return tw_fail(err, TW_PARSE, "line 1: two columns of %s",
				       of == WATTS ? "watts" : "CPU use");
		c->has[of] = true;
		c->column[c->columns++] = of;
	} while (!c->cells.ends_row);
	if (!c->has[WATTS])
		return tw_fail(err, TW_PARSE,
			       "line 1: no column watts, power, power_w or w");
	if (!c->has[LOAD] && isnan(load))
		return tw_fail(err, TW_PARSE,
			       "line 1: no column cpu, load or cpu_percent; give the "
			       "load with --csv-load");
	return 0;
}

/* Set *more to false at the end. */
static int read_row(struct csv *c, double *value, bool *more, struct tw_err *err)
{
	size_t at = 0;

	do {
		if (!tw_csv_cells_next(&c->cells, err)) {
			*more = false;
			return err->code == TW_OK && at == 0
				       ? 0
				       : tw_fail(err, TW_PARSE,
						 "the last line is incomplete");
		}
		if (at == c->columns)
			return tw_fail(err, TW_PARSE, "line %zu: more than %zu cells",
				       c->cells.row_line, c->columns);
		if (c->column[at] != OTHER &&
		    !tw_parse_double(c->cells.text, c->cells.text_len,
				     &value[c->column[at]]))
			return tw_fail(err, TW_PARSE, "line %zu: '%.*s' is not a number",
				       c->cells.row_line,
				       (int)fmin((double)c->cells.text_len, 32),
				       c->cells.text);
		at++;
	} while (!c->cells.ends_row);
	return at == c->columns ? 0
				: tw_fail(err, TW_PARSE, "line %zu: %zu cells, want %zu",
					  c->cells.row_line, at, c->columns);
}

static int read_rows(struct tw_reading_list *l, struct csv *c, double load, double error,
		     struct tw_err *err)
{
	for (bool more = true;;) {
		double value[COLUMNS] = { [LOAD] = 100 * load };

		if (read_row(c, value, &more, err) < 0)
			return -1;
		if (!more)
			return 0;
		if (!(value[WATTS] > 0) || !(value[LOAD] >= 0 && value[LOAD] <= 100))
			return tw_fail(err, TW_INVALID,
				       "line %zu: %g W at %g %% CPU, want above 0 W and "
				       "0 to 100 %%",
				       c->cells.row_line, value[WATTS], value[LOAD]);
		if (tw_reading_list_add(l, value[LOAD] / 100, value[WATTS], error, err) <
		    0)
			return -1;
	}
}

int tw_reading_list_read_csv(struct tw_reading_list *l, const char *path, double load,
			     double error, struct tw_err *err)
{
	struct csv c = { 0 };
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, CSV_BYTES_MAX, &data, &len, err) < 0)
		return -1;
	c.cells.data = data;
	c.cells.len = len;
	if (read_header(&c, load, err) < 0 || read_rows(l, &c, load, error, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	tw_csv_cells_release(&c.cells);
	free(data);
	return rc;
}

/* ---- a meter of this machine ---- */

/* Time of all CPUs, and the part of it without work. */
struct cpu_time {
	double all_ms, idle_ms;
	unsigned cpus;
};

static int read_cpu_time(const char *proc, struct cpu_time *out, struct tw_err *err)
{
	struct tw_node_counts counts = { 0 };
	char *path = NULL, *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, proc, "stat", NULL) < 0 ||
	    tw_file_read(path, STAT_BYTES_MAX, &text, &len, err) < 0 ||
	    tw_proc_node_stat_parse(text, len, tw_proc_ticks_per_s(), &counts, &out->cpus,
				    err) < 0)
		goto out;
	out->all_ms = 0;
	for (int m = 0; m < TW_CPU_MODE_COUNT; m++)
		out->all_ms += (double)counts.cpu_ms[m];
	out->idle_ms =
		(double)counts.cpu_ms[TW_CPU_IDLE] + (double)counts.cpu_ms[TW_CPU_IOWAIT];
	rc = 0;
out:
	free(path);
	free(text);
	return rc;
}

/* The power of the first meter of the zone platform, in W; 0 if no meter has the zone. */
static double platform_of(const json_t *probe, const char **meter)
{
	const json_t *m, *z;
	size_t i, k;

	json_array_foreach(json_object_get(probe, "meters"), i, m) {
		double sum = 0;

		json_array_foreach(json_object_get(m, "zones"), k, z) {
			const char *kind = json_string_value(json_object_get(z, "zone"));

			if (kind != NULL && strcmp(kind, "platform") == 0)
				sum += json_number_value(json_object_get(z, "watts"));
		}
		if (sum > 0) {
			*meter = json_string_value(json_object_get(m, "name"));
			return sum;
		}
	}
	return 0;
}

static int watch(struct tw_reading_list *l, const struct tw_reading_record *r,
		 const char *name, struct tw_err *err)
{
	const uint64_t settle_ms = r->phase_ms / SETTLE;
	const struct timespec settle = { .tv_sec = (time_t)(settle_ms / 1000),
					 .tv_nsec = (long)(settle_ms % 1000) * 1000000 };
	const struct tw_probe_config pc = { .roots = r->roots,
					    .watch_ms =
						    (uint32_t)(r->phase_ms - settle_ms) };
	struct cpu_time before = { 0 }, after = { 0 };
	const char *meter = NULL;
	json_t *doc = NULL;
	double w, load;
	char line[160];
	int rc = -1;

	nanosleep(&settle, NULL);
	if (read_cpu_time(r->roots->proc, &before, err) < 0 ||
	    tw_probe(&pc, &doc, err) < 0 ||
	    read_cpu_time(r->roots->proc, &after, err) < 0)
		goto out;
	w = platform_of(doc, &meter);
	load = 1 - (after.idle_ms - before.idle_ms) / (after.all_ms - before.all_ms);
	if (!(w > 0)) {
		tw_fail(err, TW_NOTFOUND,
			"no meter here measures the whole machine ('tallywatt probe' "
			"lists them); give --idle and --full, or --csv");
		goto out;
	}
	if (!(load >= 0 && load <= 1)) {
		tw_fail(err, TW_IO, "the CPUs counted no time");
		goto out;
	}
	snprintf(line, sizeof(line), "  %s: %.1f W of %s, %.1f %% CPU", name, w,
		 meter != NULL ? meter : "a meter", 100 * load);
	r->say(line);
	rc = tw_reading_list_add(l, load, w, r->error, err);
out:
	json_decref(doc);
	return rc;
}

static const struct tw_planned *find_phase(const char *name)
{
	size_t i = 0;

	while (strcmp(tw_plan_at(i)->name, name) != 0)
		i++;
	return tw_plan_at(i);
}

int tw_reading_list_record(struct tw_reading_list *l, const struct tw_reading_record *r,
			   struct tw_err *err)
{
	static const char *const phases[] = { "rest", "cpu-50", "cpu-100" };
	const struct tw_load_config c = { .cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
					  .dir = "/" };

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		struct tw_load load = { 0 };
		int rc;

		r->say(phases[i]);
		if (tw_load_start(find_phase(phases[i]), &c, &load, err) < 0)
			return -1;
		rc = watch(l, r, phases[i], err);
		if (rc == 0)
			rc = tw_load_check(&load, err);
		tw_load_end(&load);
		if (rc < 0)
			return -1;
	}
	return 0;
}
