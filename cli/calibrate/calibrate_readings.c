/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/calibrate/calibrate_readings.h"

#include "cli/memory.h"
#include "collector/power/node.h"
#include "collector/probe.h"
#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
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
	tw_must_have(tw_grow(&l->at, &l->size, l->count, sizeof(*l->at)));
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

/* Names of columns and the factors to W and percent. */
static const struct known {
	const char *name;
	enum column column;
	double factor;
} known[] = { { "", OTHER, 1 },           { "watts", WATTS, 1 },
	      { "power", WATTS, 1 },      { "power_w", WATTS, 1 },
	      { "w", WATTS, 1 },          { "power_mw", WATTS, 1e-3 },
	      { "cpu", LOAD, 1 },         { "load", LOAD, 1 },
	      { "cpu_percent", LOAD, 1 }, { "cpu_share", LOAD, 100 } };

struct csv {
	struct tw_csv_cells cells;
	const struct known *column[TW_CSV_COLS_MAX];
	size_t columns;
	const struct known *of[COLUMNS]; /* NULL: there is no such column */
	double most_load;                /* percent */
	size_t rows, wrong, wrong_line;  /* readings that no machine draws; the first */
	double wrong_w;
};

static const struct known *column_of(const char *name, size_t len)
{
	for (size_t i = 1; i < TW_COUNT(known); i++)
		if (strlen(known[i].name) == len &&
		    strncasecmp(known[i].name, name, len) == 0)
			return &known[i];
	return &known[0];
}

static int read_header(struct csv *c, double load, struct tw_err *err)
{
	do {
		const struct known *of;

		if (!tw_csv_cells_next(&c->cells, err))
			return tw_fail(err, TW_PARSE, "line 1: a header is missing");
		if (c->columns == TW_CSV_COLS_MAX)
			return tw_fail(err, TW_INVALID, "line 1: more than %d columns",
				       TW_CSV_COLS_MAX);
		of = column_of(c->cells.text, c->cells.text_len);
		if (of->column != OTHER && c->of[of->column] != NULL)
			return tw_fail(err, TW_PARSE, "line 1: two columns of %s",
				       of->column == WATTS ? "watts" : "CPU use");
		c->of[of->column] = of;
		c->column[c->columns++] = of;
	} while (!c->cells.ends_row);
	if (c->of[WATTS] == NULL)
		return tw_fail(err, TW_PARSE,
			       "line 1: no column watts, power, power_w, power_mw or w");
	if (c->of[LOAD] == NULL && isnan(load))
		return tw_fail(err, TW_PARSE,
			       "line 1: no column cpu, load, cpu_percent or cpu_share; "
			       "give the load with --csv-load");
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
		if (c->column[at]->column != OTHER &&
		    !tw_parse_double(c->cells.text, c->cells.text_len,
				     &value[c->column[at]->column]))
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

/*
 * Whether a meter writes this number for want of a reading: 0, a negative number, or all
 * bits of 16 or 32, in W or parts of it down to mW.
 */
static bool is_sentinel(double w)
{
	static const double all_bits[] = { 32767, 65535, 2147483647.0, 4294967295.0 };
	static const double units_a_watt[] = { 1, 10, 100, 1000 };

	for (size_t u = 0; u < TW_COUNT(units_a_watt); u++)
		for (size_t i = 0; i < TW_COUNT(all_bits); i++)
			if (fabs(w * units_a_watt[u] / all_bits[i] - 1) < 1e-9)
				return true;
	return !(w > 0);
}

static int add_row(struct tw_reading_list *l, struct csv *c, const double *value,
		   double error, struct tw_err *err)
{
	const double w = value[WATTS] * c->of[WATTS]->factor;
	const double load = value[LOAD] * (c->of[LOAD] != NULL ? c->of[LOAD]->factor : 1);

	if (!(load >= 0 && load <= 100))
		return tw_fail(err, TW_INVALID,
			       "line %zu: %g W at %g %% CPU, want 0 to 100 %%",
			       c->cells.row_line, w, load);
	c->rows++;
	c->most_load = fmax(c->most_load, load);
	if (!is_sentinel(value[WATTS]))
		return tw_reading_list_add(l, load / 100, w, error, err);
	if (c->wrong++ == 0) {
		c->wrong_line = c->cells.row_line;
		c->wrong_w = value[WATTS];
	}
	return 0;
}

/* A tenth of the readings may be wrong. Use from 0 to 1 is a share or hardly any. */
static int check_rows(const struct csv *c, struct tw_err *err)
{
	const struct known *load = c->of[LOAD];

	if (10 * c->wrong > c->rows)
		return tw_fail(err, TW_INVALID,
			       "line %zu: %.10g is not a power, as in %zu of %zu lines",
			       c->wrong_line, c->wrong_w, c->wrong, c->rows);
	if (load != NULL && load->factor == 1 &&
	    strcasecmp(load->name, "cpu_percent") != 0 && c->most_load > 0 &&
	    c->most_load <= 1)
		return tw_fail(
			err, TW_INVALID,
			"column '%s' is at most %g: name it cpu_share if 1 is full "
			"load, or cpu_percent if 100 is",
			load->name, c->most_load);
	return 0;
}

static int read_rows(struct tw_reading_list *l, struct csv *c, double load, double error,
		     struct tw_err *err)
{
	for (bool more = true;;) {
		double value[COLUMNS] = { [LOAD] = 100 * load };

		if (read_row(c, value, &more, err) < 0)
			return -1;
		if (!more)
			return check_rows(c, err);
		if (add_row(l, c, value, error, err) < 0)
			return -1;
	}
}

int tw_reading_list_read_csv(struct tw_reading_list *l, const char *path, double load,
			     double error, void (*say)(const char *text),
			     struct tw_err *err)
{
	struct csv c = { 0 };
	char line[160];
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
	if (c.wrong > 0) {
		snprintf(line, sizeof(line),
			 "line %zu: %.10g is not a power: %zu of %zu lines left out",
			 c.wrong_line, c.wrong_w, c.wrong, c.rows);
		say(line);
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

	for (size_t i = 0; i < TW_COUNT(phases); i++) {
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
