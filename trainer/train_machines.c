/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_machines.h"

#include "lib/err.h"
#include "trainer/prom.h"
#include "trainer/train.h"

#include <stdlib.h>

static int take_apart(struct tw_train_machines *m, struct tw_err *err)
{
	if (m->count > TW_TRAIN_MACHINES_MAX)
		return tw_fail(err, TW_INVALID, "response holds %zu machines, at most %d",
			       m->count, TW_TRAIN_MACHINES_MAX);
	m->one = calloc(m->count, sizeof(struct tw_prom *));
	if (m->one == NULL)
		return tw_fail(err, TW_NOMEM, "%zu machines", m->count);
	if (m->named != NULL)
		return tw_machines_select(&m->all, m->whole, m->named, &m->one[0], err);
	return tw_machines_split(&m->all, m->whole, m->one, err);
}

int tw_train_machines_find(const struct tw_train_job *job, struct tw_train_machines *out,
			   struct tw_err *err)
{
	struct tw_train_machines m = { .whole = job->response, .count = 1 };
	int rc = -1;

	if (job->response == NULL)
		return 0;
	if (tw_machines_find(job->response, &m.all, err) < 0)
		goto out;
	m.named = job->machine;
	/* Guests are not divided among hosts: several hosts are refused later. */
	if (m.named == NULL && !job->vm_metrics && m.all.count > 1)
		m.count = m.all.count;
	if (m.count > 1 && tw_machine_spec_known(&job->spec)) {
		tw_fail(err, TW_INVALID,
			"the machine's spec is given, and the response holds %zu "
			"machines: want one of them",
			m.count);
		goto out;
	}
	if ((m.named != NULL || m.count > 1) && take_apart(&m, err) < 0)
		goto out;

	*out = m;
	m = (struct tw_train_machines){ 0 };
	rc = 0;
out:
	tw_train_machines_release(&m);
	return rc;
}

const struct tw_prom *tw_train_machines_response(const struct tw_train_machines *m,
						 size_t i)
{
	return m->one != NULL ? m->one[i] : m->whole;
}

const char *tw_train_machines_name(const struct tw_train_machines *m, size_t i)
{
	if (m->named != NULL)
		return m->named;
	return m->count == m->all.count ? m->all.name[i] : NULL;
}

bool tw_train_machines_wants(const struct tw_train_machines *m, size_t i,
			     const struct tw_train_job *job,
			     const struct tw_energy_source *source,
			     const struct tw_feature_group *group)
{
	const struct tw_prom *response = tw_train_machines_response(m, i);
	bool has_source = tw_extract_has_source(response, source);
	bool has_group = tw_extract_has_group(response, group);

	if (job->source != NULL ? job->source != source : !has_source)
		return false;
	if (job->group != NULL ? job->group != group : !has_group)
		return false;
	/* What two exporters tell is not put together. */
	return !has_source || !has_group || tw_extract_has_both(response, group, source);
}

void tw_train_machines_release(struct tw_train_machines *m)
{
	for (size_t i = 0; m->one != NULL && i < m->count; i++)
		tw_prom_free(m->one[i]);
	free(m->one);
	tw_machines_release(&m->all);
	*m = (struct tw_train_machines){ 0 };
}
