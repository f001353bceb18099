/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_machines.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "profiler/node_types.h"
#include "trainer/extract/metric_series.h"
#include "trainer/response/machine_info.h"
#include "trainer/response/prom_store.h"
#include "trainer/train_job.h"

#include <stdlib.h>
#include <string.h>

int tw_train_machine_compare(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static struct tw_train_machine *find_machine(struct tw_train_machines *m,
					     const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (tw_train_machine_compare(m->at[i].name, name) == 0)
			return &m->at[i];
	return NULL;
}

static int add_machine(struct tw_train_machines *m, const char *name,
		       struct tw_train_machine **out, struct tw_err *err)
{
	*out = find_machine(m, name);
	if (*out != NULL)
		return 0;
	if (m->count == TW_MACHINES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d machines", TW_MACHINES_MAX);
	if (!tw_resize(&m->at, m->count + 1, sizeof(*m->at)))
		return tw_fail(err, TW_NOMEM, "%zu machines", m->count + 1);
	*out = &m->at[m->count++];
	**out = (struct tw_train_machine){ .name = name };
	return 0;
}

static int add_recording(struct tw_train_machines *m, const char *name,
			 struct tw_train_recording rec, struct tw_err *err)
{
	struct tw_train_machine *machine;

	if (add_machine(m, name, &machine, err) < 0)
		return -1;
	if (!tw_resize(&machine->recording, machine->recordings + 1, sizeof(rec)))
		return tw_fail(err, TW_NOMEM, "%zu responses", machine->recordings + 1);
	machine->recording[machine->recordings++] = rec;
	return 0;
}

/* ---- responses ---- */

static int add_response(struct tw_train_machines *m, const struct tw_train_job *job,
			size_t input, struct tw_err *err)
{
	const struct tw_train_response *r = &job->responses[input];
	const char *wanted = tw_train_machine_compare(job->machine, r->machine) != 0
				     ? job->machine
				     : NULL;
	struct tw_machines *of = &m->of[input];
	const char *name;

	/* Guests have no host: with vm_metrics, extraction rejects several machines. */
	if (tw_machines_find(r->prom, r->machine == NULL ? wanted : NULL,
			     job->vm_metrics ? TW_PARTS_NONE : TW_PARTS_OF_SEVERAL, of,
			     err) < 0)
		return -1;
	m->responses = input + 1;
	if (r->machine != NULL && of->several)
		return tw_fail(
			err, TW_INVALID,
			"response is said to be of '%.60s', and holds %zu machines",
			r->machine, of->count);
	if (r->machine != NULL && wanted != NULL &&
	    (of->count == 0 || strcmp(of->name[0], wanted) != 0))
		return tw_fail(err, TW_NOTFOUND,
			       "response has no machine '%s': it is of '%s'", wanted,
			       r->machine);
	for (size_t i = 0; of->part != NULL && i < of->count; i++)
		if (add_recording(m, of->name[i],
				  (struct tw_train_recording){ of->part[i], input, true },
				  err) < 0)
			return -1;
	if (of->part != NULL)
		return 0;
	name = wanted != NULL ? wanted : r->machine;
	if (name == NULL && of->count == 1)
		name = of->name[0];
	return add_recording(m, name,
			     (struct tw_train_recording){ r->prom, input, !of->several },
			     err);
}

/* A response without the job's machine is skipped; at least one must have it. */
static int add_responses(struct tw_train_machines *m, const struct tw_train_job *job,
			 struct tw_err *err)
{
	struct tw_err absent = { 0 };

	for (size_t i = 0; i < job->response_count; i++) {
		struct tw_err why = { 0 };

		if (job->responses[i].prom == NULL)
			continue;
		if (add_response(m, job, i, &why) == 0)
			continue;
		if (job->response_count > 1)
			tw_err_wrap(&why, "'%.80s'", job->responses[i].origin);
		if (job->machine == NULL || why.code != TW_NOTFOUND)
			return tw_fail(err, why.code, "%s", why.text);
		tw_fail(&absent, why.code, "%s", why.text);
	}
	if (m->count == 0 && absent.code != TW_OK)
		return tw_fail(err, absent.code, "%s", absent.text);
	return 0;
}

/* ---- specs and node types ---- */

/*
 * The spec that the machine itself exported, in the last of its recordings that has a
 * spec.
 */
static int read_spec(struct tw_train_machine *m, struct tw_err *err)
{
	struct tw_machine_spec spec;

	for (size_t i = 0; i < m->recordings; i++) {
		if (tw_machine_info_read(m->recording[i].response, &spec, err) < 0)
			return -1;
		if (tw_machine_spec_known(&spec))
			m->spec = spec;
	}
	return 0;
}

/* A spec of the job replaces that of the machine's series. */
static int set_specs(struct tw_train_machines *m, const struct tw_train_job *job,
		     struct tw_err *err)
{
	struct tw_train_machine *one;

	if (tw_machine_spec_known(&job->spec) && m->count > 1)
		return tw_fail(err, TW_INVALID,
			       "the machine's spec is given, and there are %zu machines: "
			       "want one of them",
			       m->count);
	for (size_t i = 0; i < m->count; i++) {
		if (tw_machine_spec_known(&job->spec))
			m->at[i].spec = job->spec;
		else if (!job->vm_metrics && read_spec(&m->at[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < job->spec_count; i++) {
		one = find_machine(m, job->specs[i].machine);
		if (one == NULL)
			return tw_fail(err, TW_INVALID,
				       "a spec is given for machine '%.60s', of which "
				       "there is no data",
				       job->specs[i].machine);
		one->spec = job->specs[i].spec;
	}
	return 0;
}

/* Number the machines by the pipeline's known node types; new ones follow. */
static int set_node_types(struct tw_train_machines *m, const struct tw_train_job *job,
			  struct tw_err *err)
{
	struct tw_node_types types = { 0 };
	uint32_t number;
	int rc = -1;

	if (job->known != NULL && tw_node_types_merge(&types, job->known, err) < 0)
		goto out;
	for (size_t i = 0; i < m->count; i++) {
		if (tw_node_types_place(&types, m->at[i].name, &m->at[i].spec, &number,
					err) < 0)
			goto out;
		m->at[i].node_type = number;
	}

	rc = 0;
out:
	tw_node_types_release(&types);
	return rc;
}

int tw_train_machines_settle(struct tw_train_machines *m, const struct tw_train_job *job,
			     struct tw_err *err)
{
	if (set_specs(m, job, err) < 0)
		return -1;
	return set_node_types(m, job, err);
}

/* The machines of the whole training; those of other shares have no recordings. */
static int add_planned(struct tw_train_machines *m, const struct tw_train_job *job,
		       struct tw_err *err)
{
	if (!tw_resize(&m->at, job->planned_count, sizeof(*m->at)))
		return tw_fail(err, TW_NOMEM, "%zu machines", job->planned_count);
	for (size_t i = 0; i < job->planned_count; i++)
		m->at[m->count++] = (struct tw_train_machine){
			.name = job->planned[i].name,
			.spec = job->planned[i].spec,
			.node_type = job->planned[i].node_type,
		};
	return 0;
}

int tw_train_machines_find(const struct tw_train_job *job, struct tw_train_machines *out,
			   struct tw_err *err)
{
	struct tw_train_machines m = { 0 };
	struct tw_train_machine *unused;
	int rc = -1;

	if (TW_NEW(m.of, job->response_count + 1, err) < 0 ||
	    add_planned(&m, job, err) < 0 || add_responses(&m, job, err) < 0)
		goto out;
	if (job->table_count > 0 && add_machine(&m, job->machine, &unused, err) < 0)
		goto out;
	if (m.count > 1)
		qsort(m.at, m.count, sizeof(*m.at), tw_compare_texts);
	if (job->planned == NULL && tw_train_machines_settle(&m, job, err) < 0)
		goto out;

	*out = m;
	m = (struct tw_train_machines){ 0 };
	rc = 0;
out:
	tw_train_machines_release(&m);
	return rc;
}

/* ---- sources and groups ---- */

static bool recording_has(const struct tw_prom *p, const struct tw_train_job *job,
			  const struct tw_energy_source *source,
			  const struct tw_feature_group *group)
{
	bool has_source = tw_extract_has_source(p, source);
	bool has_group = tw_extract_has_group(p, group);

	if (job->source != NULL ? job->source != source
				: !has_source || !tw_energy_source_is_measured(source))
		return false;
	if (job->group != NULL ? job->group != group : !has_group || group->by_name)
		return false;
	/* Energy and features of different exporters are not combined. */
	return !has_source || !has_group || tw_extract_has_both(p, group, source);
}

bool tw_train_machine_wants(const struct tw_train_machine *m,
			    const struct tw_train_job *job,
			    const struct tw_energy_source *source,
			    const struct tw_feature_group *group)
{
	for (size_t i = 0; i < m->recordings; i++)
		if (recording_has(m->recording[i].response, job, source, group))
			return true;
	return false;
}

bool tw_train_machine_apart(const struct tw_train_machine *m,
			    const struct tw_energy_source *source,
			    const struct tw_feature_group *group)
{
	for (size_t i = 0; i < m->recordings; i++) {
		const struct tw_prom *p = m->recording[i].response;

		if (tw_extract_has_source(p, source) && tw_extract_has_group(p, group) &&
		    !tw_extract_has_both(p, group, source))
			return true;
	}
	return false;
}

const struct tw_energy_source *
tw_train_machines_unmeasured(const struct tw_train_machines *m)
{
	for (size_t i = 0; i < m->count; i++)
		for (size_t k = 0; k < m->at[i].recordings; k++) {
			const struct tw_energy_source *s =
				tw_extract_unmeasured(m->at[i].recording[k].response);

			if (s != NULL)
				return s;
		}
	return NULL;
}

void tw_train_machines_add_sources(const struct tw_train_machines *m, struct tw_buf *out)
{
	for (size_t i = 0; i < m->count; i++)
		for (size_t k = 0; k < m->at[i].recordings; k++)
			tw_extract_add_sources(m->at[i].recording[k].response, out);
}

void tw_train_machines_release(struct tw_train_machines *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->at[i].recording);
	for (size_t i = 0; i < m->responses; i++)
		tw_machines_release(&m->of[i]);
	free(m->of);
	free(m->at);
	*m = (struct tw_train_machines){ 0 };
}
