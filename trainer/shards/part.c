/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/part.h"

#include "lib/core/buf.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "lib/zip/zip.h"
#include "trainer/shards/plan.h"
#include "trainer/train_unit.h"

#include <limits.h>
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

/* ---- writing ---- */

static int set(json_t *obj, const char *key, json_t *v)
{
	return json_object_set_new(obj, key, v);
}

static json_t *failure_to_json(const struct tw_err *e)
{
	if (e->code == TW_OK)
		return json_null();
	return json_pack("{s:i, s:s}", "code", (int)e->code, "text", e->text);
}

/* The digests of the inputs that have series of the unit's machine. */
static json_t *inputs_to_json(const struct tw_plan *p, size_t unit)
{
	const struct tw_plan_machine *m =
		&p->machine[p->data[p->unit[unit].data].machine];
	json_t *inputs = json_array();

	for (size_t i = 0; i < m->inputs; i++) {
		const struct tw_plan_file *f = &p->input[m->input[i]];

		if (json_array_append_new(inputs, json_pack("{s:s, s:s}", "file", f->text,
							    "sha256", f->sha256)) < 0) {
			json_decref(inputs);
			return NULL;
		}
	}
	return inputs;
}

/* Why requested scores are missing: the text of trainer/train_pack.c's note. */
static const char *find_note(const struct tw_train_unit *u)
{
	if (u->data->alt_err.code != TW_OK)
		return u->data->alt_err.text;
	for (size_t i = 0; i < u->data->alts; i++)
		if (u->scores.alt_err[i].code != TW_OK)
			return u->scores.alt_err[i].text;
	return "";
}

static json_t *describe(const struct tw_plan *p, size_t unit,
			const struct tw_train_unit *u)
{
	const struct tw_train_data *d = u->data;
	struct tw_buf address = { 0 };
	json_t *doc = NULL;

	tw_plan_add_address(p, unit, &address);
	if (!tw_buf_failed(&address))
		doc = json_pack("{s:i, s:s, s:I, s:s, s:o}", "format_version",
				TW_PLAN_FORMAT, "plan", p->digest, "unit",
				(json_int_t)unit, "address", address.data, "inputs",
				inputs_to_json(p, unit));
	tw_buf_clear(&address);
	if (doc == NULL || set(doc, "failure", failure_to_json(&u->err)) < 0 ||
	    set(doc, "data_failure", failure_to_json(&d->err)) < 0 ||
	    set(doc, "rows", json_integer((json_int_t)d->rows)) < 0 ||
	    set(doc, "first_ms", json_integer(d->first_ms)) < 0 ||
	    set(doc, "last_ms", json_integer(d->last_ms)) < 0 ||
	    set(doc, "note", json_string(find_note(u))) < 0 ||
	    set(doc, "quality",
		d->quality != NULL ? json_string(d->quality_text.data) : json_null()) <
		    0 ||
	    set(doc, "profile", tw_profile_to_json(&d->profile)) < 0) {
		json_decref(doc);
		return NULL;
	}
	return doc;
}

static int add_document(const struct tw_plan *p, size_t unit,
			const struct tw_train_unit *u, struct tw_fileset *out,
			struct tw_err *err)
{
	json_t *doc = describe(p, unit, u);
	struct tw_buf b = { 0 };
	char *text = NULL;
	size_t len = 0;

	if (doc != NULL) {
		tw_buf_add_json_pretty(&b, doc);
		text = tw_buf_detach(&b, &len);
	}
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

static int read_failure(const json_t *doc, const char *key, struct tw_err *out,
			struct tw_err *err)
{
	const json_t *obj = NULL;
	const char *text;
	long long code;

	if (tw_json_object(doc, DOCUMENT, key, true, &obj, err) < 0)
		return -1;
	if (obj == NULL)
		return 0;
	if (tw_json_int(obj, key, "code", false, TW_OK + 1, TW_CODE_COUNT - 1, &code,
			err) < 0 ||
	    tw_json_text(obj, key, "text", false, &text, err) < 0)
		return -1;
	out->code = (enum tw_code)code;
	snprintf(out->text, sizeof(out->text), "%s", text);
	return 0;
}

static int check_plan(const json_t *doc, const struct tw_plan *p, struct tw_err *err)
{
	const char *plan, *address = "?";

	if (tw_json_text(doc, DOCUMENT, "plan", false, &plan, err) < 0 ||
	    tw_json_text(doc, DOCUMENT, "address", true, &address, err) < 0)
		return -1;
	if (strcmp(plan, p->digest) == 0)
		return 0;
	return tw_fail(err, TW_INVALID, "unit '%.120s' is of another plan (%.12s)",
		       address, plan);
}

static int read_profile(const json_t *doc, struct tw_profile *out, struct tw_err *err)
{
	const json_t *profile;

	if (tw_json_object(doc, DOCUMENT, "profile", false, &profile, err) < 0)
		return -1;
	return tw_profile_from_json(json_object_get(doc, "profile"), DOCUMENT ".profile",
				    out, err);
}

static int read_document(const json_t *doc, const struct tw_plan *p, struct tw_part *out,
			 struct tw_err *err)
{
	const char *note = "", *quality = NULL;
	long long format, unit, rows, first, last;

	if (tw_json_int(doc, DOCUMENT, "format_version", false, 1, TW_PLAN_FORMAT,
			&format, err) < 0 ||
	    check_plan(doc, p, err) < 0 ||
	    tw_json_int(doc, DOCUMENT, "unit", false, 0, (long long)p->units - 1, &unit,
			err) < 0 ||
	    read_failure(doc, "failure", &out->failure, err) < 0 ||
	    read_failure(doc, "data_failure", &out->data_failure, err) < 0 ||
	    tw_json_int(doc, DOCUMENT, "rows", false, 0, LLONG_MAX, &rows, err) < 0 ||
	    tw_json_int(doc, DOCUMENT, "first_ms", false, LLONG_MIN, LLONG_MAX, &first,
			err) < 0 ||
	    tw_json_int(doc, DOCUMENT, "last_ms", false, LLONG_MIN, LLONG_MAX, &last,
			err) < 0 ||
	    tw_json_text(doc, DOCUMENT, "note", true, &note, err) < 0 ||
	    tw_json_text(doc, DOCUMENT, "quality", true, &quality, err) < 0 ||
	    read_profile(doc, &out->profile, err) < 0)
		return -1;
	out->unit = (size_t)unit;
	out->rows = (size_t)rows;
	out->first_ms = first;
	out->last_ms = last;
	snprintf(out->note, sizeof(out->note), "%s", note);
	if (quality != NULL && (out->quality = strdup(quality)) == NULL)
		return fail_nomem(err);
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
