/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/part.h"

#include "lib/core/buf.h"
#include "lib/core/file.h"
#include "lib/json/fields.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/zip/zip.h"
#include "trainer/shards/plan.h"
#include "trainer/train_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOCUMENT "unit.json"
#define FILES "pipeline/"
#define PATH_TEXT 640

static int fail_nomem(struct tw_err *err)
{
	return tw_fail(err, TW_NOMEM, "part");
}

static int part_path(const char *dir, size_t unit, char **out, struct tw_err *err)
{
	char name[64];

	snprintf(name, sizeof(name), "%06zu" TW_PART_SUFFIX, unit);
	return tw_path_join(out, err, dir, name, NULL);
}

/* ---- the document ---- */

/* unit.json: a part, and its place in the plan. */
struct document {
	const char *plan, *address;
	struct tw_plan_file *input; /* those that have series of the unit's machine */
	size_t inputs;
	struct tw_part part;
};

static const struct tw_field failure_fields[] = {
	{ "code", TW_FIELD_UINT, TW_FIELD_AT(struct tw_err, code), .min = TW_OK + 1,
	  .max = TW_CODE_COUNT - 1 },
	{ "text", TW_FIELD_REASON, TW_FIELD_AT(struct tw_err, text) },
};

static const struct tw_fields failure_table = TW_FIELDS(failure_fields, struct tw_err);

static int read_failure(const json_t *v, const char *where, void *member,
			struct tw_err *err)
{
	return tw_fields_read(&failure_table, v, where, member, err);
}

static void write_failure(const void *member, struct tw_buf *out)
{
	const struct tw_err *failure = member;

	if (failure->code == TW_OK)
		tw_json_add_null(out, NULL);
	else
		tw_fields_write(&failure_table, failure, out);
}

static const struct tw_field_own failure_own = { read_failure, write_failure, NULL,
						 NULL };

static int read_profile(const json_t *v, const char *where, void *member,
			struct tw_err *err)
{
	/* The function does not change the value. */
	return tw_profile_from_json((json_t *)(uintptr_t)v, where, member, err);
}

static void write_profile(const void *member, struct tw_buf *out)
{
	tw_json_add_value_take(out, NULL, tw_profile_to_json(member));
}

static const struct tw_field_own profile_own = { read_profile, write_profile, NULL,
						 NULL };

#define AT(member) TW_FIELD_AT(struct document, member)

static const struct tw_field fields[] = {
	{ "format_version", TW_FIELD_FORMAT, .min = 1, .max = TW_PLAN_FORMAT },
	{ "plan", TW_FIELD_BORROWED, AT(plan) },
	{ "unit", TW_FIELD_UINT, AT(part.unit) },
	{ "address", TW_FIELD_BORROWED, AT(address), .optional = true },
	{ "inputs", TW_FIELD_RECORD, TW_FIELD_LIST_AT(struct document, input, inputs),
	  .record = &tw_plan_file_fields, .unread = true },
	{ "failure", TW_FIELD_OWN, AT(part.failure), .own = &failure_own,
	  .optional = true },
	{ "data_failure", TW_FIELD_OWN, AT(part.data_failure), .own = &failure_own,
	  .optional = true },
	{ "rows", TW_FIELD_UINT, AT(part.rows) },
	{ "first_ms", TW_FIELD_INT, AT(part.first_ms) },
	{ "last_ms", TW_FIELD_INT, AT(part.last_ms) },
	{ "note", TW_FIELD_REASON, AT(part.note), .optional = true },
	{ "quality", TW_FIELD_STRING, AT(part.quality), .optional = true },
	{ "profile", TW_FIELD_OWN, AT(part.profile), .own = &profile_own },
};

static const struct tw_fields document_table = TW_FIELDS(fields, struct document);

/* ---- writing ---- */

/* Borrows all but the list of inputs. False without memory. */
static bool describe(const struct tw_plan *p, size_t unit, const struct tw_train_unit *u,
		     struct document *out)
{
	const struct tw_train_data *d = u->data;
	const struct tw_plan_machine *m =
		&p->machine[p->data[p->unit[unit].data].machine];

	out->input = calloc(m->inputs + 1, sizeof(*out->input));
	if (out->input == NULL)
		return false;
	for (size_t i = 0; i < m->inputs; i++)
		out->input[i] = p->input[m->input[i]];
	out->inputs = m->inputs;
	out->plan = p->digest;
	out->part = (struct tw_part){
		.unit = unit,
		.failure = u->err,
		.data_failure = d->err,
		.rows = d->rows,
		.first_ms = d->first_ms,
		.last_ms = d->last_ms,
		.quality = d->quality != NULL ? d->quality_text.data : NULL,
		.profile = d->profile,
	};
	snprintf(out->part.note, sizeof(out->part.note), "%s",
		 tw_train_unit_note(u)->text);
	return true;
}

static int add_document(const struct tw_plan *p, size_t unit,
			const struct tw_train_unit *u, struct tw_fileset *out,
			struct tw_err *err)
{
	struct tw_buf address = { 0 }, b = { 0 };
	struct document d = { .plan = NULL };
	json_t *doc = NULL;
	char *text = NULL;
	size_t len = 0;

	tw_plan_add_address(p, unit, &address);
	d.address = address.data;
	if (!tw_buf_failed(&address) && describe(p, unit, u, &d))
		doc = tw_fields_to_json(&document_table, &d);
	if (doc != NULL) {
		tw_buf_add_json_pretty(&b, doc);
		text = tw_buf_detach(&b, &len);
	}
	free(d.input);
	tw_buf_clear(&address);
	json_decref(doc);
	if (text == NULL)
		return fail_nomem(err);
	return tw_fileset_take(out, DOCUMENT, text, len, err);
}

static int pack(const struct tw_plan *p, size_t unit, const struct tw_train_unit *u,
		char **zip, size_t *len, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	char name[PATH_TEXT];
	int rc = -1;

	if (add_document(p, unit, u, &files, err) < 0)
		goto out;
	for (size_t i = 0; u->err.code == TW_OK && i < u->files.count; i++) {
		const struct tw_fileset_file *f = &u->files.at[i];

		snprintf(name, sizeof(name), FILES "%s", f->name);
		if (tw_fileset_add(&files, name, f->data, f->len, err) < 0)
			goto out;
	}
	rc = tw_zip_write(&files, zip, len, err);
out:
	tw_fileset_clear(&files);
	return rc;
}

/* Keep the part that is there if it is the same. */
static int compare(const char *path, const char *zip, size_t len, struct tw_err *err)
{
	char *was = NULL;
	size_t was_len;
	int rc = 0;

	if (tw_file_read(path, TW_PART_BYTES_MAX, &was, &was_len, err) < 0)
		return -1;
	if (was_len != len || memcmp(was, zip, len) != 0)
		rc = tw_fail(err, TW_INVALID,
			     "'%s' is another result of the same unit: remove it if it "
			     "is wrong",
			     path);
	free(was);
	return rc;
}

int tw_part_write(const char *dir, const struct tw_plan *p, size_t unit,
		  const struct tw_train_unit *u, struct tw_err *err)
{
	char *path = NULL, *zip = NULL;
	size_t len;
	int rc = -1;

	if (part_path(dir, unit, &path, err) < 0 || pack(p, unit, u, &zip, &len, err) < 0)
		goto out;
	if (access(path, F_OK) == 0)
		rc = compare(path, zip, len, err);
	else
		rc = tw_file_replace(path, zip, len, err);
out:
	free(path);
	free(zip);
	return rc;
}

/* ---- reading ---- */

static int read_document(const json_t *doc, const struct tw_plan *p, struct tw_part *out,
			 struct tw_err *err)
{
	struct document d = { .address = "?", .part = *out };
	const int rc = tw_fields_read(&document_table, doc, DOCUMENT, &d, err);

	*out = d.part; /* the caller releases it */
	if (rc < 0)
		return -1;
	if (strcmp(d.plan, p->digest) != 0)
		return tw_fail(err, TW_INVALID,
			       "unit '%.120s' is of another plan (%.12s)", d.address,
			       d.plan);
	if (out->unit >= p->units)
		return tw_fail(err, TW_INVALID, DOCUMENT ".unit: %zu of %zu units",
			       out->unit, p->units);
	return 0;
}

/* Move the model's files out of the part's. */
static int take_files(struct tw_fileset *from, struct tw_fileset *out, struct tw_err *err)
{
	const size_t prefix = strlen(FILES);

	for (size_t i = 0; i < from->count; i++) {
		struct tw_fileset_file *f = &from->at[i];
		char *data = f->data;

		if (strncmp(f->name, FILES, prefix) != 0)
			continue;
		f->data = NULL;
		if (tw_fileset_take(out, f->name + prefix, data, f->len, err) < 0)
			return -1;
	}
	return 0;
}

static int read_part(const char *zip, size_t len, const struct tw_plan *p,
		     struct tw_part *out, struct tw_err *err)
{
	const struct tw_fileset_file *f;
	struct tw_fileset files = { 0 };
	json_t *doc = NULL;
	int rc = -1;

	tw_sha256_text(zip, len, out->sha256);
	if (tw_zip_read(zip, len, &tw_zip_pipeline_limits, &files, err) < 0)
		goto out;
	f = tw_fileset_find(&files, DOCUMENT);
	if (f == NULL) {
		tw_fail(err, TW_INVALID, "there is no " DOCUMENT);
		goto out;
	}
	if (tw_json_parse(f->data, f->len, DOCUMENT, &doc, err) < 0 ||
	    read_document(doc, p, out, err) < 0 ||
	    take_files(&files, &out->files, err) < 0)
		goto out;
	if ((out->failure.code == TW_OK) != (out->files.count > 0)) {
		tw_fail(err, TW_INVALID, "want either a failure or a model");
		goto out;
	}

	rc = 0;
out:
	json_decref(doc);
	tw_fileset_clear(&files);
	return rc;
}

int tw_part_read(const char *path, const struct tw_plan *p, struct tw_part *out,
		 struct tw_err *err)
{
	struct tw_part part = { 0 };
	char *zip = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, TW_PART_BYTES_MAX, &zip, &len, err) < 0)
		return -1;
	if (read_part(zip, len, p, &part, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	*out = part;
	part = (struct tw_part){ 0 };
	rc = 0;
out:
	tw_part_release(&part);
	free(zip);
	return rc;
}

int tw_part_present(const char *dir, const struct tw_plan *p, size_t unit, bool *present,
		    struct tw_err *err)
{
	struct tw_part part = { 0 };
	char *path = NULL;
	int rc = -1;

	*present = false;
	if (part_path(dir, unit, &path, err) < 0)
		return -1;
	if (access(path, F_OK) < 0) {
		rc = 0;
		goto out;
	}
	if (tw_part_read(path, p, &part, err) < 0)
		goto out;
	if (part.unit != unit) {
		tw_fail(err, TW_INVALID, "'%s' is the part of unit %zu", path, part.unit);
		goto out;
	}
	*present = true;
	rc = 0;
out:
	free(path);
	tw_part_release(&part);
	return rc;
}

void tw_part_release(struct tw_part *part)
{
	free(part->quality);
	tw_profile_release(&part->profile);
	tw_fileset_clear(&part->files);
	*part = (struct tw_part){ 0 };
}
