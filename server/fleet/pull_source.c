/* SPDX-License-Identifier: Apache-2.0 */
#include "server/fleet/pull_source.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "model-db/pipeline.h"

#include <stdlib.h>
#include <string.h>

#define ZIP ".zip"
#define ROLLOUT ".rollout.json"
#define FILE_URL "file://"

/* default_pipelines of kepler-model-server 0.7.11, util/loader.py. */
#define KEPLER_MODEL_DB                                                               \
	"https://raw.githubusercontent.com/sustainable-computing-io/kepler-model-db/" \
	"main/models/v0.7"
static const char *const published[] = { "ec2-0.7.11", "specpower-0.7.11" };
static const char trained[] = "std_v0.7.11";

/* The length of NAME in "NAME=WHERE"; 0 without a NAME. */
static size_t name_length(const char *entry)
{
	const size_t len = strcspn(entry, "=");
	struct tw_err ignored = { 0 };

	return entry[len] == '=' && tw_name_check("", entry, len, &ignored) == 0 ? len
										 : 0;
}

/* The path behind "scheme://host". */
static const char *path_of(const char *url)
{
	const char *host = strstr(url, "://");

	host = host != NULL ? host + 3 : url;
	return host + strcspn(host, "/?#");
}

/* Shorten *end, the end of a text, by the ending. False if the text has another one. */
static bool drop_ending(const char *text, size_t *end, const char *ending)
{
	const size_t n = strlen(ending);

	if (*end <= n || strncmp(text + *end - n, ending, n) != 0)
		return false;
	*end -= n;
	return true;
}

static size_t path_end(const char *path, bool local)
{
	return local ? strlen(path) : strcspn(path, "?#");
}

/* The last part of the path without ".zip" or ".rollout.json". */
static int name_of(const char *from, bool local, char **out, struct tw_err *err)
{
	size_t end, start;

	from = local ? from : path_of(from);
	end = path_end(from, local);
	while (end > 0 && from[end - 1] == '/')
		end--;
	for (start = end; start > 0 && from[start - 1] != '/'; start--)
		;
	from += start;
	end -= start;
	if (!drop_ending(from, &end, ROLLOUT))
		drop_ending(from, &end, ZIP);
	if (tw_pipeline_name_check(from, end, err) < 0)
		return -1;
	return tw_text_copy(from, end, out, err);
}

/* The URL or path of an entry. */
static int locate(const char *where, const char *top, char **out, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	size_t len = top != NULL ? strlen(top) : 0;

	if (strncmp(where, FILE_URL, strlen(FILE_URL)) == 0)
		where += strlen(FILE_URL);
	if (tw_url_is(where) || where[0] == '/') {
		tw_buf_adds(&b, where);
	} else if (top == NULL) {
		return tw_fail(err, TW_INVALID,
			       "'%.64s' is neither a URL nor an absolute path, and "
			       "--pull-from is not set",
			       where);
	} else {
		while (len > 0 && top[len - 1] == '/')
			len--;
		tw_buf_add(&b, top, len);
		tw_buf_addf(&b, "/%s%s", where, ZIP);
	}
	*out = tw_buf_detach(&b, NULL);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "source");
}

static int read_source(const char *entry, const char *top, struct tw_pull_source *s,
		       struct tw_err *err)
{
	const size_t name = name_length(entry);
	size_t end;

	if (locate(entry + name + (name > 0), top, &s->from, err) < 0)
		return -1;
	s->local = s->from[0] == '/';
	end = path_end(s->from, s->local);
	s->rollout = drop_ending(s->from, &end, ROLLOUT);
	tw_url_show(s->from, s->shown);
	if (name == 0)
		return name_of(s->from, s->local, &s->pipeline, err);
	return tw_text_copy(entry, name, &s->pipeline, err);
}

static int add_source(struct tw_pull_sources *out, const char *entry, const char *top,
		      struct tw_err *err)
{
	if (out->count == TW_PULL_SOURCES_MAX)
		return tw_fail(err, TW_INVALID, "--pull: more than %d pipelines",
			       TW_PULL_SOURCES_MAX);
	/* Count the entry first, so that a failure releases its parts. */
	if (read_source(entry, top, &out->at[out->count++], err) < 0)
		return tw_err_wrap(err, "--pull");
	for (size_t i = 0; i + 1 < out->count; i++)
		if (strcmp(out->at[i].pipeline, out->at[out->count - 1].pipeline) == 0)
			return tw_fail(err, TW_INVALID,
				       "--pull: two pipelines would be named '%s': say "
				       "NAME=URL",
				       out->at[i].pipeline);
	return 0;
}

/* The directory that MODEL_TOPURL names in existing configurations. */
static bool is_kepler_model_db(const char *top)
{
	const size_t len = strlen(KEPLER_MODEL_DB);

	return strncmp(top, KEPLER_MODEL_DB, len) == 0 &&
	       strspn(top + len, "/") == strlen(top + len);
}

static int add_usual(struct tw_pull_sources *out, const char *top, struct tw_err *err)
{
	if (!is_kepler_model_db(top))
		return add_source(out, trained, top, err);
	for (size_t i = 0; i < TW_COUNT(published); i++)
		if (add_source(out, published[i], top, err) < 0)
			return -1;
	return 0;
}

static int check_top(const char **top, struct tw_err *err)
{
	if (*top != NULL && strncmp(*top, FILE_URL, strlen(FILE_URL)) == 0)
		*top += strlen(FILE_URL);
	if (*top == NULL || tw_url_is(*top) || **top == '/')
		return 0;
	return tw_fail(err, TW_INVALID,
		       "--pull-from '%.64s' is neither a URL nor an absolute path", *top);
}

int tw_pull_sources_read(const struct tw_strs *list, const char *top,
			 struct tw_pull_sources *out, struct tw_err *err)
{
	if (top != NULL && *top == '\0')
		top = NULL;
	if (check_top(&top, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (add_source(out, list->at[i], top, err) < 0)
			return -1;
	return list->count == 0 && top != NULL ? add_usual(out, top, err) : 0;
}

void tw_pull_sources_release(struct tw_pull_sources *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->at[i].pipeline);
		free(s->at[i].from);
	}
	s->count = 0;
}
