/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_data.h"

#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "trainer/record/prom_query.h"
#include "trainer/response/prom.h"
#include "trainer/unit/unit_fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 40
#define WATTS_MAX 1e9

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				 "0123456789:.-";

static int add_slot(struct tw_unit_data *d, size_t role, const char *text, char *name,
		    struct tw_err *err)
{
	struct tw_unit_slot *slot = &d->slot[d->slots];

	if (d->slots == TW_UNIT_SLOTS_MAX) {
		free(name);
		return tw_fail(err, TW_INVALID, "over %d selectors", TW_UNIT_SLOTS_MAX);
	}
	*slot = (struct tw_unit_slot){ .role = role, .text = strdup(text), .name = name };
	d->slots++;
	if (slot->text == NULL)
		return tw_fail(err, TW_NOMEM, "selector");
	if (tw_selector_parse(text, &slot->selector, err) < 0)
		return tw_err_wrap(err, "'%.80s'", text);
	return 0;
}

int tw_unit_data_add(struct tw_unit_data *d, enum tw_unit_role role, const char *selector,
		     struct tw_err *err)
{
	return add_slot(d, role, selector, NULL, err);
}

int tw_unit_data_find(const struct tw_unit_data *d, const char *name, size_t *out,
		      struct tw_err *err)
{
	for (size_t i = 0; i < d->in.works; i++) {
		if (strcmp(d->in.work[i].name, name) != 0)
			continue;
		*out = i;
		return 0;
	}
	return tw_fail(err, TW_NOTFOUND, "no work of the name '%.64s'", name);
}

int tw_unit_data_number(const char *text, double max, double *out, struct tw_err *err)
{
	if (!tw_parse_double(text, strlen(text), out) || !(*out >= 0 && *out <= max))
		return tw_fail(err, TW_INVALID, "'%.32s': want a number from 0 to %.0f",
			       text, max);
	return 0;
}

int tw_unit_data_either(struct tw_unit_data *d, enum tw_unit_role role, const char *text,
			double max, double *out, struct tw_err *err)
{
	double unused;

	if (tw_parse_double(text, strlen(text), &unused) || text[0] == '-')
		return tw_unit_data_number(text, max, out, err);
	return tw_unit_data_add(d, role, text, err);
}

/* A counter of work: NAME=SELECTOR, or SELECTOR, which has the metric's name. */
static int add_work(struct tw_unit_data *d, const char *text, struct tw_err *err)
{
	const size_t len = strspn(text, name_bytes);
	const bool named = text[len] == '=';
	struct tw_err none = { 0 };
	char *name;
	size_t found;

	if (len == 0 || (named && len > NAME_MAX_LEN))
		return tw_fail(err, TW_INVALID,
			       "'%.64s': want NAME=SELECTOR, with a name of up to %d "
			       "letters, digits, _ : . and -",
			       text, NAME_MAX_LEN);
	if (d->in.works == TW_UNIT_WORKS_MAX)
		return tw_fail(err, TW_INVALID, "over %d counters of work",
			       TW_UNIT_WORKS_MAX);
	if (tw_text_copy(text, len, &name, err) < 0)
		return -1;
	if (tw_unit_data_find(d, name, &found, &none) == 0) {
		tw_fail(err, TW_INVALID, "two counters named '%.64s': want NAME=SELECTOR",
			name);
		free(name);
		return -1;
	}
	if (add_slot(d, TW_UNIT_WORK + d->in.works, text + (named ? len + 1 : 0), name,
		     err) < 0)
		return -1;
	d->in.work[d->in.works++].name = name;
	return 0;
}

static int add_energy(struct tw_unit_data *d, const struct tw_strs *energy,
		      struct tw_err *err)
{
	if (energy->count == 0)
		return tw_unit_data_add(d, TW_UNIT_ENERGY, TW_UNIT_NODE_ENERGY, err);
	for (size_t i = 0; i < energy->count; i++)
		if (tw_unit_data_add(d, TW_UNIT_ENERGY, energy->at[i], err) < 0)
			return -1;
	return 0;
}

static int set_block(struct tw_unit_data *d, const char *block, struct tw_err *err)
{
	if (tw_parse_duration_ms(block, &d->block_ms, err) < 0)
		return -1;
	return d->block_ms > 0 && d->block_ms <= (uint64_t)TW_DATE_MAX_MS
		       ? 0
		       : tw_fail(err, TW_INVALID, "'%.32s' is not a length of time",
				 block);
}

int tw_unit_data_open(struct tw_unit_data *d, const struct tw_unit_ask *ask,
		      const char *before, struct tw_err *err)
{
	if (add_energy(d, &ask->energy, err) < 0)
		return tw_err_wrap(err, "%senergy", before);
	for (size_t i = 0; i < ask->work.count; i++)
		if (add_work(d, ask->work.at[i], err) < 0)
			return tw_err_wrap(err, "%swork", before);
	d->with_idle = ask->idle != NULL;
	if (ask->idle != NULL && tw_unit_data_either(d, TW_UNIT_IDLE, ask->idle,
						     WATTS_MAX, &d->idle_w, err) < 0)
		return tw_err_wrap(err, "%sidle", before);
	if (ask->block != NULL && set_block(d, ask->block, err) < 0)
		return tw_err_wrap(err, "%sblock", before);
	return 0;
}

const char *tw_unit_data_text(const struct tw_unit_data *d, size_t role)
{
	for (size_t i = 0; i < d->slots; i++)
		if (d->slot[i].role == role)
			return d->slot[i].text;
	return NULL;
}

/* ---- series ---- */

static int select_slot(struct tw_unit_data *d, const struct tw_unit_slot *slot,
		       const struct tw_prom *p, struct tw_err *err)
{
	struct tw_selection *s = &d->selection[slot->role];
	struct tw_selection *idle = d->with_idle ? s : &d->selection[TW_UNIT_IDLE];
	const size_t before = s->count;

	if (slot->role == TW_UNIT_ENERGY
		    ? tw_selection_add_energy(s, idle, p, &slot->selector, err) < 0
		    : tw_selection_add(s, p, &slot->selector, err) < 0)
		return tw_err_wrap(err, "'%.80s'", slot->text);
	if (s->count == before)
		return tw_fail(err, TW_NOTFOUND, "no series of '%.160s'", slot->text);
	return 0;
}

static void fill_input(struct tw_unit_data *d)
{
	d->in.energy = tw_selection_source(&d->selection[TW_UNIT_ENERGY],
					   tw_unit_data_text(d, TW_UNIT_ENERGY));
	d->in.idle = tw_selection_source(&d->selection[TW_UNIT_IDLE], "idle");
	d->in.intensity =
		tw_selection_source(&d->selection[TW_UNIT_INTENSITY], "intensity");
	d->in.batch = tw_selection_source(&d->selection[TW_UNIT_BATCH], "batch");
	for (size_t i = 0; i < d->in.works; i++)
		d->in.work[i] = tw_selection_source(&d->selection[TW_UNIT_WORK + i],
						    d->in.work[i].name);
}

int tw_unit_data_read(struct tw_unit_data *d, const char *path, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	int rc = -1;

	for (size_t i = 0; i < d->slots; i++)
		if (!tw_strs_has(&names, d->slot[i].selector.metric) &&
		    tw_strs_adds(&names, d->slot[i].selector.metric, err) < 0)
			goto out;
	if (tw_prom_read_more(path, &names, &d->slot[0].prom, err) < 0)
		goto out;
	for (size_t i = 0; i < d->slots; i++)
		if (select_slot(d, &d->slot[i], d->slot[0].prom, err) < 0)
			goto out;
	fill_input(d);
	rc = 0;
out:
	tw_strs_clear(&names);
	return rc;
}

/* Each selector's series pass through a file. */
static int query_slot(struct tw_unit_slot *slot, struct tw_prom_client *c,
		      const struct tw_prom_query *how, const char *path,
		      struct tw_err *err)
{
	struct tw_prom_query q = *how;
	struct tw_prom_query_result result;
	struct tw_strs names = { 0 };
	int rc = -1;

	q.match = &slot->selector.texts;
	q.metrics = slot->selector.metric;
	q.output = path;
	if (tw_prom_query_run(c, &q, &result, err) < 0) {
		tw_err_wrap(err, "'%.80s'", slot->text);
		goto out;
	}
	if (tw_strs_adds(&names, slot->selector.metric, err) == 0 &&
	    tw_prom_read_more(path, &names, &slot->prom, err) == 0)
		rc = 0;
out:
	unlink(path);
	tw_strs_clear(&names);
	return rc;
}

int tw_unit_data_query(struct tw_unit_data *d, struct tw_prom_client *c,
		       const struct tw_prom_query *q, struct tw_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = NULL, *path = NULL;
	int rc = -1;

	if (tw_path_join(&dir, err, tmp != NULL && *tmp != '\0' ? tmp : "/tmp",
			 "tallywatt-XXXXXX", NULL) < 0)
		return -1;
	if (mkdtemp(dir) == NULL) {
		tw_fail_errno(err, errno, "'%s'", dir);
		goto out;
	}
	if (tw_path_join(&path, err, dir, "response.json", NULL) < 0)
		goto remove;
	for (size_t i = 0; i < d->slots; i++)
		if (query_slot(&d->slot[i], c, q, path, err) < 0 ||
		    select_slot(d, &d->slot[i], d->slot[i].prom, err) < 0)
			goto remove;
	fill_input(d);
	rc = 0;
remove:
	rmdir(dir);
out:
	free(path);
	free(dir);
	return rc;
}

/* ---- blocks ---- */

/* The energy has the idle energy that was asked to subtract: take it out. */
static int subtract_idle(struct tw_unit_blocks *b, double idle_w, struct tw_err *err)
{
	double energy_j = 0, idle_j = 0;

	for (size_t i = 0; i < b->count; i++) {
		b->idle_j[i] += idle_w * tw_unit_block_s(b, i);
		b->energy_j[i] -= b->idle_j[i];
		energy_j += b->energy_j[i];
		idle_j += b->idle_j[i];
	}
	if (!(energy_j > 0))
		return tw_fail(err, TW_INVALID,
			       "idle power leaves nothing: %.6g J of %.6g J are idle",
			       idle_j, energy_j + idle_j);
	return 0;
}

int tw_unit_data_blocks(struct tw_unit_data *d, uint64_t block_ms,
			struct tw_unit_blocks *out, struct tw_err *err)
{
	d->in.block_ms = block_ms;
	if (tw_unit_blocks_make(&d->in, out, err) < 0)
		return -1;
	return d->with_idle ? subtract_idle(out, d->idle_w, err) : 0;
}

void tw_unit_data_release(struct tw_unit_data *d)
{
	for (size_t i = 0; i < d->slots; i++) {
		free(d->slot[i].text);
		free(d->slot[i].name);
		tw_selector_release(&d->slot[i].selector);
		tw_prom_free(d->slot[i].prom);
	}
	for (size_t i = 0; i < TW_UNIT_ROLES; i++)
		tw_selection_release(&d->selection[i]);
	*d = (struct tw_unit_data){ 0 };
}
