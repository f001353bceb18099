/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_file.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/fields.h"
#include "lib/json/json.h"

#include <jansson.h>
#include <string.h>

#define BYTES_MAX (256 * 1024)
#define WINDOW_MS (UINT64_C(24) * 3600 * 1000)
#define WINDOW_MIN_MS (UINT64_C(60) * 1000)
#define WINDOW_MAX_MS (UINT64_C(31) * 24 * 3600 * 1000)
#define EVERY_MS (UINT64_C(10) * 60 * 1000)
#define EVERY_MIN_MS UINT64_C(1000)

static int parse_length(const char *text, void *member, struct tw_err *err)
{
	return tw_parse_duration_ms(text, member, err);
}

static const struct tw_field_own length_own = { .parse = parse_length };

#define SPEC_AT(member) TW_FIELD_AT(struct tw_unit_spec, member)

static const struct tw_field spec_fields[] = {
	{ "name", TW_FIELD_NAME, SPEC_AT(name) },
	{ "work", TW_FIELD_STRS, SPEC_AT(ask.work) },
	{ "energy", TW_FIELD_STRS, SPEC_AT(ask.energy), .optional = true },
	{ "idle", TW_FIELD_STRING, SPEC_AT(ask.idle), .optional = true },
	{ "block", TW_FIELD_STRING, SPEC_AT(ask.block), .optional = true },
};
static const struct tw_fields spec_table = TW_FIELDS(spec_fields, struct tw_unit_spec);

#define FILE_AT(member) TW_FIELD_AT(struct tw_unit_file, member)

static const struct tw_field file_fields[] = {
	{ "window", TW_FIELD_OWN, FILE_AT(window_ms), .own = &length_own,
	  .optional = true },
	{ "every", TW_FIELD_OWN, FILE_AT(every_ms), .own = &length_own,
	  .optional = true },
	{ "units", TW_FIELD_RECORD, TW_FIELD_LIST_AT(struct tw_unit_file, unit, count),
	  .least = 1, .most = TW_UNIT_FILE_UNITS, .record = &spec_table },
};
static const struct tw_fields file_table = TW_FIELDS(file_fields, struct tw_unit_file);

static int refuse_unknown(const struct tw_fields *table, json_t *obj, const char *where,
			  struct tw_err *err)
{
	const char *key;
	json_t *value;

	json_object_foreach(obj, key, value) {
		size_t i = 0;

		while (i < table->count && strcmp(table->field[i].key, key) != 0)
			i++;
		if (i == table->count)
			return tw_fail(err, TW_INVALID, "%s: unknown key '%.64s'", where,
				       key);
	}
	return 0;
}

static int check_lengths(const struct tw_unit_file *f, struct tw_err *err)
{
	if (f->window_ms < WINDOW_MIN_MS || f->window_ms > WINDOW_MAX_MS)
		return tw_fail(err, TW_INVALID, "file.window: want 1m to 744h");
	if (f->every_ms < EVERY_MIN_MS || f->every_ms > f->window_ms)
		return tw_fail(err, TW_INVALID, "file.every: want 1s to the window");
	return 0;
}

static int check_unit(const struct tw_unit_file *f, size_t i, struct tw_err *err)
{
	struct tw_unit_data d = { 0 };
	int rc;

	for (size_t k = 0; k < i; k++)
		if (strcmp(f->unit[k].name, f->unit[i].name) == 0)
			return tw_fail(err, TW_INVALID, "name: '%s' is there twice",
				       f->unit[i].name);
	if (f->unit[i].ask.work.count == 0)
		return tw_fail(err, TW_INVALID, "work: no counter");
	rc = tw_unit_data_open(&d, &f->unit[i].ask, "", err);
	tw_unit_data_release(&d);
	return rc;
}

static int check_units(const struct tw_unit_file *f, json_t *doc, struct tw_err *err)
{
	for (size_t i = 0; i < f->count; i++)
		if (refuse_unknown(&spec_table,
				   json_array_get(json_object_get(doc, "units"), i),
				   f->unit[i].name, err) < 0 ||
		    check_unit(f, i, err) < 0)
			return tw_err_wrap(err, "file.units[%zu]", i);
	return 0;
}

int tw_unit_file_read(const char *path, struct tw_unit_file *out, struct tw_err *err)
{
	struct tw_unit_file f = { .window_ms = WINDOW_MS, .every_ms = EVERY_MS };
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_read(path, BYTES_MAX, &doc, err) < 0)
		return -1;
	if (tw_fields_read(&file_table, doc, "file", &f, err) < 0 ||
	    refuse_unknown(&file_table, doc, "file", err) < 0 ||
	    check_lengths(&f, err) < 0 || check_units(&f, doc, err) < 0) {
		tw_err_wrap(err, "'%.120s'", path);
		goto out;
	}
	*out = f;
	f = (struct tw_unit_file){ 0 };
	rc = 0;
out:
	tw_unit_file_release(&f);
	json_decref(doc);
	return rc;
}

void tw_unit_file_release(struct tw_unit_file *f)
{
	tw_fields_release(&file_table, f);
	*f = (struct tw_unit_file){ 0 };
}
