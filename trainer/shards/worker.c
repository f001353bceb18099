/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/worker.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "trainer/shards/part.h"
#include "trainer/shards/plan.h"
#include "trainer/train.h"
#include "trainer/train_machines.h"
#include "trainer/train_unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)64 << 20)
#define SHARDS_MAX 1000000

/* ---- choice of units: shards ---- */

/* False if text is no "I/N" or "I+1/N" of digits, which may be a path. */
static bool parse_shard(const char *text, uint32_t *i, uint32_t *n)
{
	const char *slash = strchr(text, '/');
	struct tw_err unused = { 0 };
	bool from_zero;
	char first[16];
	size_t len;

	if (slash == NULL)
		return false;
	len = (size_t)(slash - text);
	from_zero = len > 2 && memcmp(slash - 2, "+1", 2) == 0;
	len -= from_zero ? 2 : 0;
	if (len >= sizeof(first))
		return false;
	memcpy(first, text, len);
	first[len] = '\0';
	if (tw_parse_u32(first, 0, SHARDS_MAX, i, &unused) < 0 ||
	    tw_parse_u32(slash + 1, 0, SHARDS_MAX, n, &unused) < 0)
		return false;
	*i += from_zero;
	return true;
}

/* A unit is in the shard in which the middle of its cost lies. */
static void select_shard(const struct tw_plan *p, uint32_t shard, uint32_t shards,
			 bool *wanted)
{
	double total = 0.0, before = 0.0;

	for (size_t i = 0; i < p->units; i++)
		total += p->unit[i].cost_s;
	for (size_t i = 0; i < p->units; i++) {
		const double cost = total > 0.0 ? p->unit[i].cost_s : 1.0;
		const double all = total > 0.0 ? total : (double)p->units;
		const double middle = (before + cost / 2.0) / all;
		uint32_t at = (uint32_t)(middle * shards);

		at = at < shards ? at : shards - 1;
		wanted[i] = at == shard - 1;
		before += cost;
	}
}

/* ---- choice of units: files ---- */

static int by_address(const void *key, const void *item)
{
	return strcmp(key, *(char *const *)item);
}

/* The addresses of all units, sorted, each followed by its number. */
struct addresses {
	struct tw_buf text;
	char **at;
};

static int list_addresses(const struct tw_plan *p, struct addresses *out,
			  struct tw_err *err)
{
	size_t *start = calloc(p->units + 1, sizeof(*start));

	out->at = calloc(p->units + 1, sizeof(*out->at));
	for (size_t i = 0; start != NULL && i < p->units; i++) {
		start[i] = out->text.len;
		tw_plan_add_address(p, i, &out->text);
		tw_buf_add(&out->text, "", 1);
		tw_buf_add(&out->text, &i, sizeof(i));
	}
	if (start == NULL || out->at == NULL || tw_buf_failed(&out->text)) {
		free(start);
		return tw_fail(err, TW_NOMEM, "addresses of %zu units", p->units);
	}
	for (size_t i = 0; i < p->units; i++)
		out->at[i] = out->text.data + start[i];
	free(start);
	qsort(out->at, p->units, sizeof(*out->at), tw_compare_texts);
	return 0;
}

static int read_line(const struct tw_plan *p, const struct addresses *a, const char *line,
		     size_t *unit, struct tw_err *err)
{
	char *const *found;
	struct tw_err unused = { 0 };
	uint32_t number;

	if (tw_parse_u32(line, 0, UINT32_MAX, &number, &unused) == 0) {
		*unit = number;
		if (number < p->units)
			return 0;
		return tw_fail(err, TW_INVALID, "unit %u of a plan with %zu units",
			       number, p->units);
	}
	found = bsearch(line, a->at, p->units, sizeof(*a->at), by_address);
	if (found == NULL)
		return tw_fail(err, TW_NOTFOUND, "the plan has no unit '%.120s'", line);
	memcpy(unit, *found + strlen(*found) + 1, sizeof(*unit));
	return 0;
}

static int select_lines(const struct tw_plan *p, char *text, bool *wanted,
			struct tw_err *err)
{
	struct addresses a = { 0 };
	char *rest = text, *line;
	size_t number = 0, unit = 0;
	int rc = -1;

	if (list_addresses(p, &a, err) < 0)
		goto out;
	while ((line = strsep(&rest, "\n")) != NULL) {
		number++;
		line[strcspn(line, "\r")] = '\0';
		if (line[0] == '\0' || line[0] == '#')
			continue;
		if (read_line(p, &a, line, &unit, err) < 0) {
			tw_err_wrap(err, "line %zu", number);
			goto out;
		}
		wanted[unit] = true;
	}
	rc = 0;
out:
	tw_buf_clear(&a.text);
	free(a.at);
	return rc;
}

static int select_file(const struct tw_plan *p, const char *path, bool *wanted,
		       struct tw_err *err)
{
	char *text = NULL;
	size_t len;
	int rc;

	if (tw_file_read(path, FILE_MAX, &text, &len, err) < 0)
		return -1;
	if (strlen(text) != len)
		rc = tw_fail(err, TW_PARSE, "'%s': a NUL byte", path);
	else if ((rc = select_lines(p, text, wanted, err)) < 0)
		tw_err_wrap(err, "'%s'", path);
	free(text);
	return rc;
}

int tw_plan_select(const struct tw_plan *p, const char *text, bool **wanted,
		   struct tw_err *err)
{
	bool *w = calloc(p->units + 1, sizeof(*w));
	uint32_t shard, shards;
	int rc = 0;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "%zu units", p->units);
	if (!parse_shard(text, &shard, &shards))
		rc = select_file(p, text, w, err);
	else if (shard < 1 || shard > shards)
		rc = tw_fail(err, TW_INVALID, "shard %s: want 1/N to N/N", text);
	else
		select_shard(p, shard, shards, w);
	if (rc < 0)
		free(w);
	else
		*wanted = w;
	return rc;
}

/* ---- training ---- */

/* Units of machines with the same inputs. */
struct group {
	const struct tw_worker *worker;
	struct tw_worker_result *result;
	size_t from, to; /* units of the plan */
	size_t at;       /* where the last search ended: both sides have one order */
	bool *open;      /* units to train, of the whole plan */
};

static bool same_inputs(const struct tw_plan_machine *a, const struct tw_plan_machine *b)
{
	return a->inputs == b->inputs &&
	       memcmp(a->input, b->input, a->inputs * sizeof(*a->input)) == 0;
}

static const struct tw_plan_machine *machine_of(const struct tw_plan *p, size_t unit)
{
	return &p->machine[p->data[p->unit[unit].data].machine];
}

static bool is_unit(const struct tw_plan *p, size_t unit, const struct tw_train_data *d,
		    const struct tw_trainer *trainer)
{
	const struct tw_plan_data *data = &p->data[p->unit[unit].data];
	const char *name = p->machine[data->machine].name;

	return strcmp(p->unit[unit].trainer, trainer->name) == 0 &&
	       strcmp(data->group, d->group->name) == 0 &&
	       strcmp(data->output, tw_output_name(d->output)) == 0 &&
	       strcmp(data->source, d->source->name) == 0 &&
	       tw_train_machine_compare(name, d->machine->name) == 0;
}

/* The unit of the plan, or g->to. */
static size_t find_unit(struct group *g, const struct tw_train_data *d,
			const struct tw_trainer *trainer)
{
	const size_t count = g->to - g->from;

	for (size_t i = 0; i < count; i++) {
		const size_t unit = g->from + (g->at - g->from + i) % count;

		if (is_unit(g->worker->plan, unit, d, trainer)) {
			g->at = unit;
			return unit;
		}
	}
	return g->to;
}

static bool wants(void *arg, const struct tw_train_data *d,
		  const struct tw_trainer *trainer)
{
	struct group *g = arg;
	const size_t unit = find_unit(g, d, trainer);

	return unit < g->to && g->open[unit];
}

static int take(void *arg, struct tw_train_unit *u, struct tw_err *err)
{
	struct group *g = arg;
	const size_t unit = find_unit(g, u->data, u->trainer);

	if (tw_part_write(g->worker->dir, g->worker->plan, unit, u, err) < 0)
		return -1;
	g->open[unit] = false;
	g->result->trained++;
	g->result->failed += u->err.code != TW_OK;
	return 0;
}

/* The data has the digests of the plan; a unit it lacks comes of another version. */
static int check_all(const struct group *g, struct tw_err *err)
{
	struct tw_buf address = { 0 };

	for (size_t i = g->from; i < g->to; i++) {
		if (!g->open[i])
			continue;
		tw_plan_add_address(g->worker->plan, i, &address);
		tw_fail(err, TW_INVALID,
			"the inputs give no unit '%s': was the plan made by another "
			"version?",
			tw_buf_failed(&address) ? "?" : address.data);
		tw_buf_clear(&address);
		return -1;
	}
	return 0;
}

static int train_group(struct group *g, struct tw_err *err)
{
	const struct tw_worker *w = g->worker;
	const struct tw_plan_machine *m = machine_of(w->plan, g->from);
	struct tw_train_job job = *w->job;
	const struct tw_train_share share = { .wants = wants, .take = take, .arg = g };
	int rc = -1;

	if (w->load(w->arg, m->input, m->inputs, &job, err) == 0 &&
	    tw_train_units(&job, &share, err) == 0)
		rc = check_all(g, err);
	w->unload(w->arg);
	return rc;
}

/* Mark the wanted units that have no part. */
static int find_open(const struct tw_worker *w, bool *open, struct tw_worker_result *r,
		     struct tw_err *err)
{
	for (size_t i = 0; i < w->plan->units; i++) {
		bool present;

		if (!w->wanted[i])
			continue;
		if (tw_part_present(w->dir, w->plan, i, &present, err) < 0)
			return -1;
		open[i] = !present;
		r->present += present;
	}
	return 0;
}

int tw_worker_run(const struct tw_worker *w, struct tw_worker_result *out,
		  struct tw_err *err)
{
	const struct tw_plan *p = w->plan;
	struct group g = { .worker = w, .result = out };
	int rc = -1;

	*out = (struct tw_worker_result){ 0 };
	if (TW_NEW(g.open, p->units + 1, err) < 0)
		return -1;
	if (tw_dir_make(w->dir, err) < 0 || find_open(w, g.open, out, err) < 0)
		goto out;
	while (g.to < p->units) {
		bool any = false;

		g.from = g.at = g.to;
		while (g.to < p->units &&
		       same_inputs(machine_of(p, g.from), machine_of(p, g.to)))
			any |= g.open[g.to++];
		if (any && train_group(&g, err) < 0)
			goto out;
	}
	rc = 0;
out:
	free(g.open);
	return rc;
}
