/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train/train_input.h"

#include "cli/memory.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/sha256.h"
#include "lib/field/csv.h"
#include "lib/json/json.h"
#include "profiler/discover.h"
#include "trainer/response/prom.h"
#include "trainer/response/thirdparty.h"
#include "trainer/names.h"

#include <stdlib.h>
#include <string.h>

#define SPEC_MAX 65536

static int keep_name(struct tw_train_input *in, const char *name, size_t len,
		     const char **out, struct tw_err *err)
{
	if (tw_strs_add(&in->names, name, len, err) < 0)
		return -1;
	*out = in->names.at[in->names.count - 1];
	return 0;
}

/*
 * Split NAME= from a file's text; *name is NULL without it. A text with '/' before '='
 * has no name.
 */
static int split_name(struct tw_train_input *in, const char *text, const char **name,
		      const char **path, struct tw_err *err)
{
	const char *equals = strchr(text, '=');

	*path = text;
	*name = NULL;
	if (equals == NULL || memchr(text, '/', (size_t)(equals - text)) != NULL)
		return 0;
	*path = equals + 1;
	return keep_name(in, text, (size_t)(equals - text), name, err);
}

/* Keep the file name of a path or a URL. */
static int keep_base(struct tw_train_input *in, const char *file, const char **out,
		     struct tw_err *err)
{
	int len;
	const char *base = tw_input_base_name(file, &len);

	return keep_name(in, base, (size_t)len, out, err);
}

/* ---- responses ---- */

static int name_response(struct tw_train_input *in, const char *text, struct tw_err *err)
{
	struct tw_train_response *r = &in->response[in->responses];
	const char *path;

	if (split_name(in, text, &r->machine, &path, err) < 0 ||
	    keep_base(in, path, &r->origin, err) < 0 ||
	    keep_name(in, path, strlen(path), &in->path[in->responses], err) < 0)
		return -1;
	in->responses++;
	return 0;
}

int tw_train_input_name(struct tw_train_input *in, const struct tw_strs *files,
			struct tw_err *err)
{
	in->response = tw_must(calloc(files->count + 1, sizeof(*in->response)));
	in->prom = tw_must(calloc(files->count + 1, sizeof(*in->prom)));
	in->path = tw_must(calloc(files->count + 1, sizeof(*in->path)));
	for (size_t i = 0; i < files->count; i++)
		if (name_response(in, files->at[i], err) < 0)
			return -1;
	return 0;
}

int tw_train_input_load(struct tw_train_input *in, size_t response, const char *sha256,
			char *digest, struct tw_err *err)
{
	const struct tw_strs *more =
		in->thirdparty != NULL ? &in->thirdparty->names : NULL;
	struct tw_prom **prom = &in->prom[response];
	char *path;
	int rc;

	if (tw_input_cache_get(&in->cache, in->path[response], sha256, &path, digest,
			       err) < 0)
		return -1;
	rc = tw_prom_read_more(path, more, prom, err);
	free(path);
	if (rc < 0)
		return -1;
	if (in->thirdparty != NULL)
		tw_prom_declare_gauges(*prom, &in->thirdparty->gauges);
	in->response[response].prom = *prom;
	return 0;
}

void tw_train_input_unload(struct tw_train_input *in)
{
	for (size_t i = 0; i < in->responses; i++) {
		tw_prom_free(in->prom[i]);
		in->prom[i] = NULL;
		in->response[i].prom = NULL;
	}
}

int tw_train_input_responses(struct tw_train_input *in, const struct tw_strs *files,
			     struct tw_err *err)
{
	if (tw_train_input_name(in, files, err) < 0)
		return -1;
	for (size_t i = 0; i < in->responses; i++)
		if (tw_train_input_load(in, i, NULL, NULL, err) < 0)
			return -1;
	return 0;
}

/* ---- tables ---- */

static void warn_of_missing(const struct tw_train_table *t, const char *path,
			    struct tw_buf *warnings)
{
	for (size_t i = 0; i < t->group->count; i++)
		if (tw_dataset_find(t->data, t->group->features[i]) == NULL)
			tw_buf_addf(warnings, "'%s' has no '%s', going on without it\n",
				    path, t->group->features[i]);
}

static int find_group(struct tw_train_input *in, const char *text,
		      const struct tw_feature_group **group, const char **path,
		      struct tw_err *err)
{
	const char *name;

	if (split_name(in, text, &name, path, err) < 0)
		return -1;
	if (name != NULL)
		return tw_names_group(name, group, err);
	if (*group == NULL)
		return tw_fail(err, TW_INVALID,
			       "'%s': the feature group is missing: want GROUP=PATH",
			       text);
	return 0;
}

/* Append the rows of the last table to an earlier table of its group, if any. */
static int join_group(struct tw_train_input *in, struct tw_err *err)
{
	struct tw_train_table *last = &in->table[in->tables - 1], *t = in->table;
	const struct tw_dataset *both[2];
	struct tw_dataset joined = { 0 };

	while (t->group != last->group)
		t++;
	if (t == last)
		return 0;
	both[0] = t->data;
	both[1] = last->data;
	if (tw_dataset_join(both, 2, &joined, NULL, err) < 0)
		return tw_err_wrap(err, "tables of %s", t->group->name);
	tw_dataset_release(&in->data[t - in->table]);
	tw_dataset_release(&in->data[last - in->table]);
	in->data[t - in->table] = joined;
	in->tables--;
	return 0;
}

static int load_table(const struct tw_train_input *in, const char *file,
		      const char *expected, struct tw_strs *digests,
		      struct tw_dataset *out, struct tw_err *err)
{
	char digest[TW_SHA256_TEXT];
	char *path;
	int rc;

	if (tw_input_cache_get(&in->cache, file, expected, &path, digest, err) < 0)
		return -1;
	rc = tw_csv_load(path, out, err);
	if (rc == 0 && digests != NULL)
		rc = tw_strs_adds(digests, digest, err);
	free(path);
	return rc;
}

int tw_train_input_csv(struct tw_train_input *in, const struct tw_strs *files,
		       const struct tw_energy_source *source,
		       const struct tw_feature_group *group, struct tw_buf *warnings,
		       const struct tw_strs *expected, struct tw_strs *digests,
		       struct tw_err *err)
{
	in->data = tw_must(calloc(files->count + 1, sizeof(*in->data)));
	in->table = tw_must(calloc(files->count + 1, sizeof(*in->table)));

	for (size_t i = 0; i < files->count; i++) {
		struct tw_train_table *t = &in->table[in->tables];
		struct tw_dataset *d = &in->data[in->tables];
		const char *path;

		*t = (struct tw_train_table){ source, group, d, NULL };
		if (find_group(in, files->at[i], &t->group, &path, err) < 0)
			return -1;
		t->group = tw_thirdparty_group(in->thirdparty, t->group);
		if (keep_base(in, path, &t->origin, err) < 0)
			return -1;
		/* Count the entry first, so that a failed read is released, too. */
		in->tables++;
		if (load_table(in, path, expected != NULL ? expected->at[i] : NULL,
			       digests, d, err) < 0)
			return -1;
		warn_of_missing(t, path, warnings);
		if (join_group(in, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- specs ---- */

static int read_spec(const char *from, struct tw_machine_spec *out, struct tw_err *err)
{
	json_t *obj = NULL;
	int rc = -1;

	if (strcmp(from, "here") == 0)
		return tw_machine_spec_discover("/proc", "/sys", out, err);
	if (tw_json_read(from, SPEC_MAX, &obj, err) == 0 &&
	    tw_machine_spec_from_json(obj, from, out, err) == 0)
		rc = 0;
	json_decref(obj);
	return rc;
}

int tw_train_input_specs(struct tw_train_input *in, const struct tw_strs *files,
			 struct tw_machine_spec *one, struct tw_err *err)
{
	in->spec = tw_must(calloc(files->count + 1, sizeof(*in->spec)));
	for (size_t i = 0; i < files->count; i++) {
		struct tw_train_spec *s = &in->spec[in->specs];
		const char *path;

		if (split_name(in, files->at[i], &s->machine, &path, err) < 0 ||
		    read_spec(path, s->machine != NULL ? &s->spec : one, err) < 0)
			return -1;
		in->specs += s->machine != NULL;
	}
	return 0;
}

void tw_train_input_release(struct tw_train_input *in)
{
	tw_train_input_unload(in);
	for (size_t i = 0; i < in->tables; i++)
		tw_dataset_release(&in->data[i]);
	free(in->response);
	free(in->prom);
	free(in->path);
	free(in->data);
	free(in->table);
	free(in->spec);
	tw_strs_clear(&in->names);
	tw_workload_runs_release(&in->workloads);
	tw_isolation_input_release(&in->isolation);
	tw_node_types_release(&in->known);
	*in = (struct tw_train_input){ 0 };
}
