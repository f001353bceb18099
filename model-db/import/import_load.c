/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/import/import_load.h"

#include "lib/core/err.h"
#include "profiler/cpu_identity.h"
#include "profiler/node_types.h"

#include <stdint.h>
#include <string.h>

/* A second has so many ms. */
#define MS_A_SECOND 1000.0

static bool is_result(const char *member)
{
	const char *cores = strstr(member, "cores-");

	return cores != NULL && strstr(cores, "kbcache-") != NULL;
}

bool tw_import_is_specpower(const struct tw_node_types *types)
{
	for (size_t i = 0; i < types->count; i++) {
		const struct tw_strs *members = &types->at[i].members;

		for (size_t k = 0; k < members->count; k++)
			if (!is_result(members->at[k]))
				return false;
		if (members->count == 0)
			return false;
	}
	return types->count > 0;
}

static void count_threads(struct tw_machine_spec *s)
{
	struct tw_cpu_identity id;
	uint32_t threads;

	tw_cpu_identify(s->processor, strlen(s->processor), NULL, &id);
	if (s->cores == 0 || id.cores == 0 || id.threads % id.cores != 0)
		return;
	threads = id.threads / id.cores;
	if (threads == 0 || s->cores > UINT32_MAX / threads)
		return;
	s->cores *= threads;
	s->threads_per_core = threads;
}

void tw_import_count_threads(struct tw_node_types *types)
{
	for (size_t i = 0; i < types->count; i++)
		count_threads(&types->at[i].spec);
}

double tw_import_full_load(const struct tw_machine_spec *spec)
{
	return MS_A_SECOND * spec->cores;
}

int tw_import_set_load(json_t *weights, double full_ms, struct tw_err *err)
{
	const char *name;
	json_t *component;

	json_object_foreach(weights, name, component) {
		json_t *variables = json_object_get(
			json_object_get(component, "All_Weights"), "Numerical_Variables");
		json_t *load = json_object_get(variables, "bpf_cpu_time_ms");

		if (json_is_number(json_object_get(load, "scale")) &&
		    json_object_set_new(load, "scale", json_real(full_ms)) < 0)
			return tw_fail(err, TW_NOMEM, "%s: scale", name);
	}
	return 0;
}
