/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/model.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/jsax.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release_info(struct tw_model_info *i)
{
	tw_strs_clear(&i->features);
	json_decref(i->metadata);
	*i = (struct tw_model_info){ 0 };
}

void tw_model_release(struct tw_model *m)
{
	for (size_t i = 0; i < m->parts; i++) {
		tw_strs_clear(&m->part[i].features);
		free(m->part[i].feature_min);
		free(m->part[i].feature_max);
		free(m->part[i].text);
		free(m->part[i].error_text);
	}
	release_info(&m->info);
	*m = (struct tw_model){ 0 };
}

/* ---- checks ---- */

bool tw_model_name_split(const char *name, size_t *trainer_len, long long *node_type)
{
	const char *digits = strrchr(name, '_');
	long long v = 0;

	if (digits == NULL || digits == name)
		return false;
	digits++;
	if (digits[0] == '\0' || (digits[0] == '0' && digits[1] != '\0'))
		return false;
	for (const char *p = digits; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return false;
		v = v * 10 + (*p - '0');
		if (v > TW_MODEL_NODE_TYPE_MAX)
			return false;
	}
	*trainer_len = (size_t)(digits - 1 - name);
	*node_type = v;
	return true;
}

static int check_name(const struct tw_model_info *i, struct tw_err *err)
{
	long long node_type;
	size_t len;

	if (tw_name_check("metadata.json.model_name", i->name, strlen(i->name), err) < 0)
		return -1;
	if (!tw_model_name_split(i->name, &len, &node_type))
		return tw_fail(
			err, TW_INVALID,
			"metadata.json.model_name '%s' is not <trainer>_<node type>",
			i->name);
	if (strlen(i->trainer) != len || memcmp(i->trainer, i->name, len) != 0)
		return tw_fail(
			err, TW_INVALID,
			"metadata.json.trainer '%s' is not that of model_name '%s'",
			i->trainer, i->name);
	if (i->node_type != node_type)
		return tw_fail(
			err, TW_INVALID,
			"metadata.json.node_type %lld is not that of model_name '%s'",
			i->node_type, i->name);
	return tw_name_check("metadata.json.model_class", i->predictor,
			     strlen(i->predictor), err);
}

static bool good_feature(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > TW_FEATURE_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return true;
}

/* where is for errors: "metadata.json.features". */
static int check_features(const struct tw_strs *l, const char *where, struct tw_err *err)
{
	if (l->count == 0 || l->count > TW_MODEL_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%s: %zu features, want 1 to %d", where,
			       l->count, TW_MODEL_FEATURES_MAX);
	for (size_t i = 0; i < l->count; i++) {
		if (!good_feature(l->at[i]))
			return tw_fail(err, TW_INVALID, "%s[%zu]: not a feature's name",
				       where, i);
		if (tw_strs_find(l, l->at[i]) != (ptrdiff_t)i)
			return tw_fail(err, TW_INVALID, "%s: '%s' twice", where,
				       l->at[i]);
	}
	return 0;
}

int tw_model_check_info(const struct tw_model_info *i, struct tw_err *err)
{
	if (check_name(i, err) < 0)
		return -1;
	if (i->source == NULL || i->group == NULL)
		return tw_fail(err, TW_INVALID, "metadata.json: no %s",
			       i->source == NULL ? "energy_source" : "feature_group");
	if (check_features(&i->features, "metadata.json.features", err) < 0)
		return -1;
	for (size_t f = 1; f < i->features.count; f++)
		if (strcmp(i->features.at[f - 1], i->features.at[f]) > 0)
			return tw_fail(err, TW_INVALID,
				       "metadata.json: features are not sorted by name");
	if (i->mae_w < 0 || isinf(i->mae_w) || i->mape_percent < 0 ||
	    isinf(i->mape_percent))
		return tw_fail(
			err, TW_INVALID,
			"metadata.json: mae %g, mape %g: expected numbers of at least 0",
			i->mae_w, i->mape_percent);
	return 0;
}

/* Check only that the text is a JSON object; ignore its contents. */
static int want_object(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	(void)arg;
	if (e->depth == 0 && e->type != TW_JSAX_OBJECT && e->type != TW_JSAX_OBJECT_END)
		return tw_fail(err, TW_PARSE, "expected an object");
	return 0;
}

static int check_json(const char *text, size_t len, struct tw_err *err)
{
	const struct tw_jsax_limits limits = { .depth = 64, .text_bytes = 1 << 20 };

	if (len > TW_MODEL_PART_BYTES_MAX)
		return tw_fail(err, TW_INVALID, "%zu bytes, limit is %zu", len,
			       TW_MODEL_PART_BYTES_MAX);
	return tw_jsax_parse(&limits, want_object, NULL, text, len, err);
}

static int check_ranges(const struct tw_model_part *p, const char *where,
			struct tw_err *err)
{
	if ((p->feature_min == NULL) != (p->feature_max == NULL))
		return tw_fail(err, TW_INVALID,
			       "%s: only one of feature_min, feature_max", where);
	for (size_t i = 0; p->feature_min != NULL && i < p->features.count; i++)
		if (!isfinite(p->feature_min[i]) || !isfinite(p->feature_max[i]) ||
		    p->feature_min[i] > p->feature_max[i])
			return tw_fail(err, TW_INVALID, "%s: range %zu is %g to %g",
				       where, i, p->feature_min[i], p->feature_max[i]);
	return 0;
}

static bool measures(const struct tw_energy_source *s, enum tw_component c)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->components[i] == c)
			return true;
	return false;
}

static int check_part(const struct tw_model_info *info, const struct tw_model_part *p,
		      struct tw_err *err)
{
	const char *component = tw_component_name(p->component);
	char where[TW_MODEL_NAME_MAX + 64];

	snprintf(where, sizeof(where), "%s.json.%s.features", info->name, component);
	if (check_features(&p->features, where, err) < 0)
		return -1;
	for (size_t i = 0; i < p->features.count; i++)
		if (!tw_strs_has(&info->features, p->features.at[i]))
			return tw_fail(err, TW_INVALID,
				       "%s[%zu]: '%s' is not among metadata's features",
				       where, i, p->features.at[i]);
	snprintf(where, sizeof(where), "%s.json.%s", info->name, component);
	if (!measures(info->source, p->component))
		return tw_fail(err, TW_INVALID, "%s: not a component of %s", where,
			       info->source->name);
	if (check_ranges(p, where, err) < 0)
		return -1;
	if (check_json(p->text, p->len, err) < 0)
		return tw_err_wrap(err, "%s.json", component);
	if (p->error_text != NULL && check_json(p->error_text, p->error_len, err) < 0)
		return tw_err_wrap(err, "%s" TW_MODEL_ERROR_SUFFIX, component);
	return 0;
}

int tw_model_check(const struct tw_model *m, struct tw_err *err)
{
	if (tw_model_check_info(&m->info, err) < 0)
		return -1;
	if (m->parts == 0 || m->parts > TW_COMPONENT_COUNT)
		return tw_fail(err, TW_INVALID, "%s.json: %zu components", m->info.name,
			       m->parts);
	for (size_t i = 0; i < m->parts; i++) {
		if (i > 0 && m->part[i].component <= m->part[i - 1].component)
			return tw_fail(err, TW_INVALID,
				       "%s.json: components out of order", m->info.name);
		if (check_part(&m->info, &m->part[i], err) < 0)
			return -1;
	}
	return 0;
}

double tw_model_figure(const json_t *metadata, enum tw_component c, const char *name)
{
	char key[96];

	snprintf(key, sizeof(key), "%s_%s", tw_component_name(c), name);
	return tw_json_number_or(metadata, key, NAN);
}
