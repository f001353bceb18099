/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/unit/unit_data.h"

#include "cli/memory.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/record/prom_query.h"
#include "trainer/response/prom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 40

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
	*slot = (struct tw_unit_slot){ .role = role,
				       .text = tw_must(strdup(text)),
				       .name = name };
	d->slots++;
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
	return tw_fail(err, TW_NOTFOUND, "no --work of the name '%.64s'", name);
}

int tw_unit_data_add_work(struct tw_unit_data *d, const char *text, struct tw_err *err)
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
	name = tw_must(strndup(text, len));
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
	char *dir = tw_must_printf("%s/tallywatt-XXXXXX",
				   tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	char *path = NULL;
	int rc = -1;

	if (mkdtemp(dir) == NULL) {
		tw_fail_errno(err, errno, "'%s'", dir);
		goto out;
	}
	path = tw_must_printf("%s/response.json", dir);
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
