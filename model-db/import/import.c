/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/import/import.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "model-db/import/import_model.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "profiler/cpu_identity.h"
#include "profiler/node_types.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct importing {
	const struct tw_fileset *old;
	struct tw_fileset *out;
	struct tw_node_types types;
	bool throughput; /* the machines are those of SPECpower */
	json_t *metadata;
	struct tw_model *models;
	size_t count, size, seen;
	const struct tw_import_listener *listener;
};

/* ---- one model ---- */

static int keep_model(struct importing *im, struct tw_model *m, struct tw_err *err)
{
	if (!tw_grow(&im->models, &im->size, im->count, sizeof(*im->models)))
		return tw_fail(err, TW_NOMEM, "%zu models", im->count);
	if (tw_pipeline_add_model(im->out, m, err) < 0)
		return -1;
	im->models[im->count++] = *m;
	*m = (struct tw_model){ 0 };
	return 0;
}

static int keep_file(struct importing *im, const struct tw_fileset_file *f,
		     struct tw_err *err)
{
	char name[TW_IMPORT_PLACE + 160];

	if (snprintf(name, sizeof(name), TW_PIPELINE_FOREIGN "/%s", f->name) >=
	    (int)sizeof(name))
		return tw_fail(err, TW_INVALID, "'%.64s..': the name is too long",
			       f->name);
	return tw_fileset_add(im->out, name, f->data, f->len, err);
}

/* Copy all files of the model: "<base>.zip", "<base>.json", "<base>/..". */
static int keep_foreign(struct importing *im, const char *base, struct tw_err *err)
{
	const size_t len = strlen(base);

	for (size_t i = 0; i < im->old->count; i++) {
		const struct tw_fileset_file *f = &im->old->at[i];
		const char *more = f->name + len;

		if (strncmp(f->name, base, len) != 0)
			continue;
		if ((strcmp(more, ".zip") == 0 || strcmp(more, ".json") == 0 ||
		     more[0] == '/') &&
		    keep_file(im, f, err) < 0)
			return -1;
	}
	return 0;
}

static void report(const struct importing *im, const char *base, enum tw_import_outcome o,
		   const char *why)
{
	im->listener->report(im->listener->arg, base, o, why);
}

/* Only TW_NOMEM ends the import; other failures are reported. */
static int import_model(struct importing *im, const char *base, struct tw_err *err)
{
	struct tw_import_found found = { .base = "" };
	struct tw_err why = { 0 };
	struct tw_model m = { 0 };
	int rc = -1;

	im->seen++;
	if (tw_import_look_at(im->old, base, &found, &why) < 0) {
		if (why.code == TW_NOMEM) {
			tw_fail(err, TW_NOMEM, "'%s'", base);
			goto out;
		}
		report(im, base, TW_IMPORT_REFUSED, why.text);
	} else if (tw_import_convert(im->old, &im->types, im->throughput, &found, &m,
				     &why) == 0 &&
		   im->listener->look(im->listener->arg, &m, &why) == 0) {
		report(im, base, TW_IMPORT_USABLE, m.info.predictor);
		if (keep_model(im, &m, err) < 0)
			goto out;
	} else if (why.code == TW_NOMEM) {
		tw_fail(err, TW_NOMEM, "'%s'", base);
		goto out;
	} else {
		if (keep_foreign(im, base, err) < 0)
			goto out;
		report(im, base, TW_IMPORT_KEPT, why.text);
	}
	rc = 0;
out:
	tw_model_release(&m);
	tw_import_found_release(&found);
	return rc;
}

/* ---- common files ---- */

static bool is_result(const char *member)
{
	const char *cores = strstr(member, "cores-");

	return cores != NULL && strstr(cores, "kbcache-") != NULL;
}

/*
 * Whether all machines are results of SPECpower (docs/model-db.md, "SPECpower"): their
 * members are named "dell-amd_opteron_6174-2200.0-24.0cores-64.0kbcache-16.0gb-191".
 */
static bool is_specpower(const struct tw_node_types *types)
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

/* Replace physical by logical cores, and set the threads of a core where both are known
 * of the processor. */
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

static void count_all_threads(struct tw_node_types *types)
{
	for (size_t i = 0; i < types->count; i++)
		count_threads(&types->at[i].spec);
}

/* Read the common files. Releases before 0.7 lack node types, some metadata.json. */
static int read_common(struct importing *im, struct tw_err *err)
{
	if (tw_fileset_find(im->old, "metadata.json") == NULL)
		im->metadata = json_object();
	else if (tw_pipeline_parse(im->old, "metadata.json", &im->metadata, err) < 0)
		return -1;
	if (im->metadata == NULL)
		return tw_fail(err, TW_NOMEM, "metadata.json");
	if (tw_fileset_find(im->old, "node_type_index.json") != NULL &&
	    tw_pipeline_read_node_types(im->old, &im->types, err) < 0)
		return -1;
	im->throughput = is_specpower(&im->types);
	if (im->throughput)
		count_all_threads(&im->types);
	return 0;
}

int tw_import_pipeline(struct tw_fileset *old, struct tw_fileset *out,
		       const struct tw_import_listener *listener, struct tw_err *err)
{
	struct importing im = { .old = old, .out = out, .listener = listener };
	struct tw_strs bases = { 0 };
	int rc = -1;

	tw_fileset_sort(old);
	if (read_common(&im, err) < 0 || tw_import_list(old, &bases, err) < 0)
		goto out;
	for (size_t i = 0; i < bases.count; i++)
		if (import_model(&im, bases.at[i], err) < 0)
			goto out;
	if (im.count == 0) {
		tw_fail(err, TW_INVALID, "none of the %zu models can be used", im.seen);
		goto out;
	}
	if (tw_pipeline_add_index(out, im.metadata, &im.types, im.models, im.count, err) <
	    0)
		goto out;
	rc = 0;
out:
	tw_strs_clear(&bases);
	for (size_t i = 0; i < im.count; i++)
		tw_model_release(&im.models[i]);
	free(im.models);
	tw_node_types_release(&im.types);
	json_decref(im.metadata);
	if (rc < 0)
		tw_fileset_clear(out);
	return rc;
}
