/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_input.h"

#include "lib/buf.h"
#include "lib/csv.h"
#include "lib/err.h"
#include "trainer/names.h"
#include "trainer/prom.h"

#include <stdlib.h>
#include <string.h>

/* Take GROUP= off a file's text. *path lives as long as the text. */
static int split_group(const char *text, const struct tw_feature_group **group,
		       const char **path, struct tw_err *err)
{
	const char *equals = strchr(text, '=');
	char *name;
	int status;

	*path = text;
	if (equals == NULL || memchr(text, '/', (size_t)(equals - text)) != NULL) {
		if (*group == NULL)
			return tw_fail(err, TW_INVALID,
				       "'%s': of which feature group? (GROUP=PATH)",
				       text);
		return 0;
	}
	name = strndup(text, (size_t)(equals - text));
	if (name == NULL)
		return tw_fail(err, TW_NOMEM, "'%s'", text);
	status = tw_names_group(name, group, err);
	free(name);
	*path = equals + 1;
	return status;
}

static void warn_of_missing(const struct tw_train_table *t, const char *path,
			    struct tw_buf *warnings)
{
	for (size_t i = 0; i < t->group->count; i++)
		if (tw_dataset_find(t->data, t->group->features[i]) == NULL)
			tw_buf_addf(warnings, "'%s' has no '%s', going on without it\n",
				    path, t->group->features[i]);
}

int tw_train_input_csv(struct tw_train_input *in, const struct tw_strs *files,
		       const struct tw_energy_source *source,
		       const struct tw_feature_group *group, struct tw_buf *warnings,
		       struct tw_err *err)
{
	in->data = calloc(files->count, sizeof(*in->data));
	in->table = calloc(files->count, sizeof(*in->table));
	if (in->data == NULL || in->table == NULL)
		return tw_fail(err, TW_NOMEM, "%zu tables", files->count);

	for (size_t i = 0; i < files->count; i++) {
		struct tw_train_table *t = &in->table[i];
		const char *path;

		*t = (struct tw_train_table){ source, group, &in->data[i] };
		if (split_group(files->at[i], &t->group, &path, err) < 0)
			return -1;
		/* Counted first: what a failed read leaves is released too. */
		in->tables++;
		if (tw_csv_load(path, &in->data[i], err) < 0)
			return -1;
		warn_of_missing(t, path, warnings);
	}
	return 0;
}

void tw_train_input_release(struct tw_train_input *in)
{
	tw_prom_free(in->response);
	for (size_t i = 0; i < in->tables; i++)
		tw_dataset_release(&in->data[i]);
	free(in->data);
	free(in->table);
	*in = (struct tw_train_input){ 0 };
}
