/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/store.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"

#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Version of the tables below, in SQLite's user_version. */
#define FORMAT 1

/* Limit of a response's text. */
#define TEXT_MAX ((size_t)256 << 20)

static const char tables[] =
	"CREATE TABLE reading (id INTEGER PRIMARY KEY CHECK (id = 0), to_ms INTEGER NOT "
	"NULL);"
	"CREATE TABLE segment (id INTEGER PRIMARY KEY AUTOINCREMENT, window TEXT NOT "
	"NULL,"
	" from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL, rows INTEGER NOT NULL,"
	" held INTEGER NOT NULL, load_low REAL NOT NULL, load_high REAL NOT NULL,"
	" means TEXT NOT NULL, bytes INTEGER NOT NULL, packed INTEGER NOT NULL,"
	" UNIQUE (window, from_ms));"
	"CREATE TABLE response (id INTEGER PRIMARY KEY REFERENCES segment,"
	" deflated BLOB NOT NULL);"
	"CREATE TABLE standing (window TEXT PRIMARY KEY, trained_to_ms INTEGER,"
	" tried_to_ms INTEGER, published_ms INTEGER, onset_ms INTEGER,"
	" worse_since_ms INTEGER, error_w REAL);"
	"CREATE TABLE verdict (id INTEGER PRIMARY KEY AUTOINCREMENT, window TEXT NOT "
	"NULL,"
	" at_ms INTEGER NOT NULL, verdict TEXT NOT NULL, why TEXT NOT NULL);"
	"CREATE TABLE verdict_count (window TEXT, verdict TEXT, count INTEGER NOT NULL,"
	" PRIMARY KEY (window, verdict));";

struct tw_store {
	sqlite3 *db;
	char *path;
};

static const char *const verdict_names[TW_VERDICTS] = {
	[TW_PUBLISHED] = "published",         [TW_NOT_BETTER] = "not_better",
	[TW_NOT_CERTIFIED] = "not_certified", [TW_NOT_TRAINED] = "not_trained",
	[TW_ROLLED_BACK] = "rolled_back",
};

const char *tw_verdict_name(enum tw_verdict v)
{
	return verdict_names[v];
}

/* ---- SQLite ---- */

static int fail(const struct tw_store *s, struct tw_err *err)
{
	const int code = sqlite3_errcode(s->db);
	const char *why =
		code == SQLITE_BUSY ? "another process uses it" : sqlite3_errmsg(s->db);

	return tw_fail(err,
		       code == SQLITE_NOMEM                              ? TW_NOMEM
		       : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? TW_PARSE
									 : TW_IO,
		       "'%s': %s", s->path, why);
}

static int execute(struct tw_store *s, const char *sql, struct tw_err *err)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, err);
}

/*
 * Prepare a statement and bind its arguments, a letter each: i for int64_t, d for double,
 * t for text, which must outlive the statement.
 */
static int prepare(struct tw_store *s, sqlite3_stmt **out, struct tw_err *err,
		   const char *sql, const char *types, va_list args)
{
	if (sqlite3_prepare_v2(s->db, sql, -1, out, NULL) != SQLITE_OK)
		return fail(s, err);
	for (int i = 0; types[i] != '\0'; i++) {
		int rc = types[i] == 'i'
				 ? sqlite3_bind_int64(*out, i + 1, va_arg(args, int64_t))
			 : types[i] == 'd'
				 ? sqlite3_bind_double(*out, i + 1, va_arg(args, double))
				 : sqlite3_bind_text(*out, i + 1,
						     va_arg(args, const char *), -1,
						     SQLITE_STATIC);

		if (rc != SQLITE_OK)
			return fail(s, err);
	}
	return 0;
}

/* Begin a query; sqlite3_finalize() *out also after a failure. */
static int query(struct tw_store *s, sqlite3_stmt **out, struct tw_err *err,
		 const char *sql, const char *types, ...)
{
	va_list args;
	int rc;

	*out = NULL;
	va_start(args, types);
	rc = prepare(s, out, err, sql, types, args);
	va_end(args);
	return rc;
}

/* Run a statement without results. */
static int change(struct tw_store *s, struct tw_err *err, const char *sql,
		  const char *types, ...)
{
	sqlite3_stmt *q = NULL;
	va_list args;
	int rc;

	va_start(args, types);
	rc = prepare(s, &q, err, sql, types, args);
	va_end(args);
	if (rc == 0 && sqlite3_step(q) != SQLITE_DONE)
		rc = fail(s, err);
	sqlite3_finalize(q);
	return rc;
}

/* Whether there is a next row: 1, 0 or, after a failure, -1. */
static int next_row(struct tw_store *s, sqlite3_stmt *q, struct tw_err *err)
{
	const int rc = sqlite3_step(q);

	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : fail(s, err);
}

/* ---- open and close ---- */

static int make_tables(struct tw_store *s, struct tw_err *err)
{
	sqlite3_stmt *q;
	int rc = -1, format;
	char set[64];

	if (query(s, &q, err, "PRAGMA user_version", "") < 0 || next_row(s, q, err) < 0)
		goto out;
	format = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	q = NULL;
	if (format == FORMAT)
		return 0;
	if (format != 0) {
		tw_fail(err, TW_UNSUPPORTED,
			"'%s' has format %d; this program knows format %d", s->path,
			format, FORMAT);
		goto out;
	}
	snprintf(set, sizeof(set), "PRAGMA user_version = %d", FORMAT);
	if (tw_store_begin(s, err) < 0 || execute(s, tables, err) < 0 ||
	    execute(s, set, err) < 0 || tw_store_commit(s, err) < 0)
		goto out;
	rc = 0;
out:
	sqlite3_finalize(q);
	return rc;
}

int tw_store_open(const char *path, struct tw_store **out, struct tw_err *err)
{
	struct tw_store *s = NULL;
	int rc = -1;

	if (TW_NEW(s, 1, err) < 0 || tw_text_copy(path, strlen(path), &s->path, err) < 0)
		goto out;
	if (sqlite3_open_v2(path, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				    SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK) {
		fail(s, err);
		goto out;
	}
	/* The lock keeps other processes out; FULL survives the loss of power. */
	if (execute(s, "PRAGMA locking_mode = EXCLUSIVE", err) < 0 ||
	    execute(s, "PRAGMA journal_mode = WAL", err) < 0 ||
	    execute(s, "PRAGMA synchronous = FULL", err) < 0 || make_tables(s, err) < 0 ||
	    execute(s, "BEGIN IMMEDIATE; COMMIT", err) < 0)
		goto out;
	*out = s;
	s = NULL;
	rc = 0;
out:
	tw_store_close(s);
	return rc;
}

void tw_store_close(struct tw_store *s)
{
	if (s == NULL)
		return;
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

int tw_store_begin(struct tw_store *s, struct tw_err *err)
{
	return execute(s, "BEGIN IMMEDIATE", err);
}

int tw_store_commit(struct tw_store *s, struct tw_err *err)
{
	return execute(s, "COMMIT", err);
}

void tw_store_abort(struct tw_store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- reading ---- */

int tw_store_read_to(struct tw_store *s, int64_t *to_ms, struct tw_err *err)
{
	sqlite3_stmt *q;
	int row = -1;

	if (query(s, &q, err, "SELECT to_ms FROM reading", "") == 0)
		row = next_row(s, q, err);
	if (row >= 0)
		*to_ms = row == 1 ? sqlite3_column_int64(q, 0) : 0;
	sqlite3_finalize(q);
	return row < 0 ? -1 : 0;
}

int tw_store_set_read_to(struct tw_store *s, int64_t to_ms, struct tw_err *err)
{
	return change(s, err, "INSERT OR REPLACE INTO reading VALUES (0, ?)", "i", to_ms);
}

/* ---- windows ---- */

int tw_store_windows(struct tw_store *s, struct tw_strs *out, struct tw_err *err)
{
	sqlite3_stmt *q;
	int row = -1;

	if (query(s, &q, err,
		  "SELECT window FROM segment UNION SELECT window FROM standing ORDER BY "
		  "1",
		  "") == 0)
		while ((row = next_row(s, q, err)) == 1)
			if (tw_strs_adds(out, (const char *)sqlite3_column_text(q, 0),
					 err) < 0) {
				row = -1;
				break;
			}
	sqlite3_finalize(q);
	return row < 0 ? -1 : 0;
}

/* The member of the mean power, beside those of features. */
#define WATTS "watts"

/* {"bpf_cpu_time_ms":12.5,"watts":30} */
static int format_means(const struct tw_segment *g, struct tw_buf *out,
			struct tw_err *err)
{
	json_t *o = json_object();
	bool ok = o != NULL;

	for (size_t i = 0; ok && i < g->features; i++)
		ok = json_object_set_new(o, g->feature[i]->name, json_real(g->mean[i])) ==
		     0;
	if (ok && isfinite(g->watts))
		ok = json_object_set_new(o, WATTS, json_real(g->watts)) == 0;
	if (ok)
		tw_buf_add_json(out, o);
	json_decref(o);
	return ok && !tw_buf_failed(out) ? 0
					 : tw_fail(err, TW_NOMEM, "summary of a segment");
}

/* Features of a later release are skipped. */
static int parse_means(const char *text, struct tw_segment *g, struct tw_err *err)
{
	json_t *o = NULL, *v;
	const char *name;

	if (tw_json_parse(text, strlen(text), "means", &o, err) < 0)
		return -1;
	json_object_foreach(o, name, v) {
		const struct tw_feature *f = tw_feature_find(name);

		if (strcmp(name, WATTS) == 0)
			g->watts = json_is_number(v) ? json_number_value(v) : NAN;
		if (f == NULL || !json_is_number(v) ||
		    g->features == TW_SEGMENT_FEATURES_MAX)
			continue;
		g->feature[g->features] = f;
		g->mean[g->features++] = json_number_value(v);
	}
	json_decref(o);
	return 0;
}

static int check_order(struct tw_store *s, const char *window, int64_t from_ms,
		       struct tw_err *err)
{
	sqlite3_stmt *q;
	int row = -1;

	if (query(s, &q, err, "SELECT max(to_ms) FROM segment WHERE window = ?", "t",
		  window) == 0)
		row = next_row(s, q, err);
	if (row == 1 && sqlite3_column_int64(q, 0) > from_ms)
		row = tw_fail(err, TW_INVALID,
			      "a segment from %lld ms is before the end of '%s'",
			      (long long)from_ms, window);
	sqlite3_finalize(q);
	return row < 0 ? -1 : 0;
}

static int add_text(struct tw_store *s, struct tw_segment *g, const char *text,
		    size_t len, struct tw_err *err)
{
	uLongf packed = compressBound(len);
	unsigned char *data = malloc(packed);
	sqlite3_stmt *q = NULL;
	int rc = -1;

	if (data == NULL ||
	    compress2(data, &packed, (const unsigned char *)text, len, 1) != Z_OK) {
		tw_fail(err, TW_NOMEM, "a segment of %zu bytes", len);
		goto out;
	}
	if (query(s, &q, err, "INSERT INTO response VALUES (?, ?)", "i", g->id) < 0)
		goto out;
	if (sqlite3_bind_blob64(q, 2, data, packed, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_step(q) != SQLITE_DONE) {
		fail(s, err);
		goto out;
	}
	rc = change(s, err, "UPDATE segment SET packed = ? WHERE id = ?", "ii",
		    (int64_t)packed, g->id);
out:
	sqlite3_finalize(q);
	free(data);
	return rc;
}

int tw_store_add(struct tw_store *s, const char *window, struct tw_segment *g,
		 const char *text, size_t len, struct tw_err *err)
{
	struct tw_buf means = { 0 };
	int rc = -1;

	if (len > TEXT_MAX)
		return tw_fail(err, TW_INVALID, "a segment of %zu bytes", len);
	if (check_order(s, window, g->from_ms, err) < 0 ||
	    format_means(g, &means, err) < 0 ||
	    change(s, err,
		   "INSERT INTO segment (window, from_ms, to_ms, rows, held, load_low,"
		   " load_high, means, bytes, packed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
		   "0)",
		   "tiiiiddti", window, g->from_ms, g->to_ms, (int64_t)g->rows,
		   (int64_t)g->held, g->load_low, g->load_high, means.data,
		   (int64_t)len) < 0)
		goto out;
	g->id = sqlite3_last_insert_rowid(s->db);
	rc = add_text(s, g, text, len, err);
out:
	tw_buf_clear(&means);
	return rc;
}

static int read_segment(sqlite3_stmt *q, struct tw_segments *out, struct tw_err *err)
{
	struct tw_segment g = { .id = sqlite3_column_int64(q, 0),
				.from_ms = sqlite3_column_int64(q, 1),
				.to_ms = sqlite3_column_int64(q, 2),
				.rows = (size_t)sqlite3_column_int64(q, 3),
				.held = sqlite3_column_int(q, 4) != 0,
				.load_low = sqlite3_column_double(q, 5),
				.load_high = sqlite3_column_double(q, 6),
				.watts = NAN,
				.bytes = (size_t)sqlite3_column_int64(q, 8) };

	if (parse_means((const char *)sqlite3_column_text(q, 7), &g, err) < 0)
		return -1;
	return tw_segments_add(out, &g, err);
}

int tw_store_segments(struct tw_store *s, const char *window, struct tw_segments *out,
		      struct tw_err *err)
{
	sqlite3_stmt *q;
	int row = -1;

	if (query(s, &q, err,
		  "SELECT id, from_ms, to_ms, rows, held, load_low, load_high, means, "
		  "packed FROM segment WHERE window = ? ORDER BY from_ms",
		  "t", window) == 0)
		while ((row = next_row(s, q, err)) == 1)
			if (read_segment(q, out, err) < 0) {
				row = -1;
				break;
			}
	sqlite3_finalize(q);
	return row < 0 ? -1 : 0;
}

static int inflate_text(struct tw_store *s, sqlite3_stmt *q, char **text, size_t *len,
			struct tw_err *err)
{
	uLongf size = (uLongf)sqlite3_column_int64(q, 0);
	char *data;

	if (size > TEXT_MAX || (data = malloc(size + 1)) == NULL)
		return tw_fail(err, TW_NOMEM, "a segment of %lu bytes",
			       (unsigned long)size);
	if (uncompress((unsigned char *)data, &size, sqlite3_column_blob(q, 1),
		       (uLong)sqlite3_column_bytes(q, 1)) != Z_OK) {
		free(data);
		return tw_fail(err, TW_PARSE, "'%s': a segment is damaged", s->path);
	}
	data[size] = '\0';
	*text = data;
	*len = size;
	return 0;
}

int tw_store_text(struct tw_store *s, int64_t id, char **text, size_t *len,
		  struct tw_err *err)
{
	sqlite3_stmt *q;
	int row = -1;

	if (query(s, &q, err,
		  "SELECT bytes, deflated FROM segment JOIN response USING (id) WHERE id "
		  "= ?",
		  "i", id) == 0)
		row = next_row(s, q, err);
	if (row == 0)
		row = tw_fail(err, TW_NOTFOUND, "'%s': no segment %lld", s->path,
			      (long long)id);
	else if (row == 1 && inflate_text(s, q, text, len, err) < 0)
		row = -1;
	sqlite3_finalize(q);
	return row < 0 ? -1 : 0;
}

int tw_store_remove(struct tw_store *s, int64_t id, struct tw_err *err)
{
	if (change(s, err, "DELETE FROM response WHERE id = ?", "i", id) < 0)
		return -1;
	return change(s, err, "DELETE FROM segment WHERE id = ?", "i", id);
}

static int forget(struct tw_store *s, const char *window, int64_t from_ms, int64_t to_ms,
		  struct tw_err *err)
{
	if (change(s, err,
		   "DELETE FROM response WHERE id IN (SELECT id FROM segment WHERE "
		   "window = ? AND to_ms > ? AND to_ms <= ?)",
		   "tii", window, from_ms, to_ms) < 0)
		return -1;
	return change(s, err,
		      "DELETE FROM segment WHERE window = ? AND to_ms > ? AND to_ms <= ?",
		      "tii", window, from_ms, to_ms);
}

int tw_store_forget(struct tw_store *s, const char *window, int64_t to_ms,
		    struct tw_err *err)
{
	return forget(s, window, INT64_MIN, to_ms, err);
}

int tw_store_forget_after(struct tw_store *s, const char *window, int64_t from_ms,
			  struct tw_err *err)
{
	return forget(s, window, from_ms, INT64_MAX, err);
}

int tw_store_release_held(struct tw_store *s, const char *window, int64_t to_ms,
			  struct tw_err *err)
{
	return change(s, err,
		      "UPDATE segment SET held = 0 WHERE window = ? AND to_ms <= ?", "ti",
		      window, to_ms);
}

/* ---- decisions ---- */

int tw_store_standing(struct tw_store *s, const char *window, struct tw_standing *out,
		      struct tw_err *err)
{
	sqlite3_stmt *q;
	int row = -1;

	if (query(s, &q, err,
		  "SELECT trained_to_ms, tried_to_ms, published_ms, onset_ms,"
		  " worse_since_ms, error_w FROM standing WHERE window = ?",
		  "t", window) == 0)
		row = next_row(s, q, err);
	*out = (struct tw_standing){ 0 };
	if (row == 1)
		*out = (struct tw_standing){
			.trained_to_ms = sqlite3_column_int64(q, 0),
			.tried_to_ms = sqlite3_column_int64(q, 1),
			.published_ms = sqlite3_column_int64(q, 2),
			.onset_ms = sqlite3_column_int64(q, 3),
			.worse_since_ms = sqlite3_column_int64(q, 4),
			.error_w = sqlite3_column_double(q, 5),
		};
	sqlite3_finalize(q);
	return row < 0 ? -1 : 0;
}

int tw_store_set_standing(struct tw_store *s, const char *window,
			  const struct tw_standing *t, struct tw_err *err)
{
	return change(s, err,
		      "INSERT OR REPLACE INTO standing VALUES (?, ?, ?, ?, ?, ?, ?)",
		      "tiiiiid", window, t->trained_to_ms, t->tried_to_ms,
		      t->published_ms, t->onset_ms, t->worse_since_ms, t->error_w);
}

int tw_store_add_verdict(struct tw_store *s, const char *window, int64_t at_ms,
			 enum tw_verdict v, const char *why, struct tw_err *err)
{
	const char *name = verdict_names[v];

	if (change(s, err,
		   "INSERT INTO verdict (window, at_ms, verdict, why) VALUES (?, ?, ?, "
		   "?)",
		   "titt", window, at_ms, name, why) < 0 ||
	    change(s, err,
		   "INSERT INTO verdict_count VALUES (?, ?, 1) ON CONFLICT (window, "
		   "verdict) DO UPDATE SET count = count + 1",
		   "tt", window, name) < 0)
		return -1;
	return change(s, err,
		      "DELETE FROM verdict WHERE id <= (SELECT max(id) FROM verdict) - "
		      "1000",
		      "");
}

int tw_store_count_verdicts(struct tw_store *s, const char *window,
			    uint64_t count[TW_VERDICTS], struct tw_err *err)
{
	for (size_t v = 0; v < TW_VERDICTS; v++) {
		sqlite3_stmt *q;
		int row = -1;

		if (query(s, &q, err,
			  "SELECT count FROM verdict_count WHERE window = ? AND verdict "
			  "= ?",
			  "tt", window, verdict_names[v]) == 0)
			row = next_row(s, q, err);
		count[v] = row == 1 ? (uint64_t)sqlite3_column_int64(q, 0) : 0;
		sqlite3_finalize(q);
		if (row < 0)
			return -1;
	}
	return 0;
}
