/* SPDX-License-Identifier: Apache-2.0 */
#include "server/fleet/rollout.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/http/client/url.h"
#include "lib/json/json.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define REPLICAS_MAX 10000
#define HOST_TEXT 256

/* ---- the replica ---- */

static bool read_number(const char *text, size_t len, uint64_t *out)
{
	return tw_parse_u64(text, len, out) && *out >= 1 && *out <= REPLICAS_MAX;
}

/* Read "I/N". False for a plain name. */
static bool read_place(const char *name, unsigned *place)
{
	const size_t len = strcspn(name, "/");
	uint64_t i, n;

	if (name[len] != '/' || !read_number(name, len, &i) ||
	    !read_number(name + len + 1, strlen(name + len + 1), &n) || i > n)
		return false;
	*place = (unsigned)((i - 1) * 100 / n);
	return true;
}

static int check_labels(const struct tw_strs *labels, struct tw_err *err)
{
	for (size_t i = 0; i < labels->count; i++)
		if (labels->at[i][0] == '=' || strchr(labels->at[i], '=') == NULL)
			return tw_fail(err, TW_INVALID,
				       "--replica-labels: want KEY=VALUE, not '%.64s'",
				       labels->at[i]);
	return 0;
}

int tw_replica_init(const char *name, const struct tw_strs *labels,
		    struct tw_replica *out, struct tw_err *err)
{
	char host[HOST_TEXT] = "";

	out->labels = labels;
	if (check_labels(labels, err) < 0)
		return -1;
	if (name == NULL || name[0] == '\0') {
		(void)!gethostname(host, sizeof(host) - 1);
		name = host;
	}
	if (read_place(name, &out->place))
		return 0;
	if (strchr(name, '/') != NULL)
		return tw_fail(err, TW_INVALID,
			       "--replica '%.64s': want a name, or I/N with I from 1 to "
			       "N, and N at most %d",
			       name, REPLICAS_MAX);
	out->place = (unsigned)(tw_hash(name, strlen(name)) % 100);
	return 0;
}

/* ---- the file ---- */

static int check_keys(const json_t *doc, struct tw_err *err)
{
	static const char *const known[] = { "stable", "next", "percent", "labels",
					     NULL };
	const char *key;
	const json_t *value;

	if (!json_is_object(doc))
		return tw_fail(err, TW_INVALID, "rollout: want an object, not %s",
			       tw_json_type_name(doc));
	json_object_foreach((json_t *)(uintptr_t)doc, key, value) {
		size_t i = 0;

		while (known[i] != NULL && strcmp(known[i], key) != 0)
			i++;
		if (known[i] == NULL)
			return tw_fail(err, TW_INVALID, "rollout: unknown key '%.64s'",
				       key);
	}
	return 0;
}

/* Whether the replica has all labels of the rollout. */
static int match_labels(const json_t *wanted, const struct tw_replica *r, bool *matches,
			struct tw_err *err)
{
	const char *key;
	const json_t *value;

	*matches = true;
	json_object_foreach((json_t *)(uintptr_t)wanted, key, value) {
		struct tw_buf b = { 0 };

		if (!json_is_string(value))
			return tw_fail(err, TW_INVALID,
				       "rollout.labels.%.64s: want a string, not %s", key,
				       tw_json_type_name(value));
		tw_buf_addf(&b, "%s=%s", key, json_string_value(value));
		if (tw_buf_failed(&b))
			return tw_fail(err, TW_NOMEM, "rollout");
		*matches = *matches && tw_strs_has(r->labels, b.data);
		tw_buf_clear(&b);
	}
	return 0;
}

/* The URL or path of a version. A path is relative to the URL of the rollout. */
static int locate(const char *where, const char *from, char **out, struct tw_err *err)
{
	const size_t end = strcspn(from, "?#");
	const char *slash = memrchr(from, '/', end);
	struct tw_buf b = { 0 };

	if (where[0] == '\0')
		return tw_fail(err, TW_INVALID, "rollout: a version has no name");
	if (where[0] == '/' && from[0] != '/')
		return tw_fail(err, TW_INVALID,
			       "rollout: a rollout from a URL may not name the path "
			       "'%.64s'",
			       where);
	if (!tw_url_is(where) && where[0] != '/')
		tw_buf_add(&b, from, slash != NULL ? (size_t)(slash - from) + 1 : 0);
	tw_buf_adds(&b, where);
	*out = tw_buf_detach(&b, NULL);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "rollout");
}

int tw_rollout_choose(const char *text, size_t len, const char *from,
		      const struct tw_replica *r, char **out, bool *next,
		      struct tw_err *err)
{
	const char *stable, *version = NULL;
	const json_t *labels = NULL;
	long long percent = 0;
	json_t *doc = NULL;
	bool matches;
	int rc = -1;

	if (tw_json_parse(text, len, "rollout", &doc, err) < 0 ||
	    check_keys(doc, err) < 0 ||
	    tw_json_text(doc, "rollout", "stable", false, &stable, err) < 0 ||
	    tw_json_text(doc, "rollout", "next", true, &version, err) < 0 ||
	    tw_json_int(doc, "rollout", "percent", version == NULL, 0, 100, &percent,
			err) < 0 ||
	    tw_json_object(doc, "rollout", "labels", true, &labels, err) < 0 ||
	    match_labels(labels, r, &matches, err) < 0)
		goto out;
	*next = version != NULL && matches && r->place < (unsigned long long)percent;
	if (locate(*next ? version : stable, from, out, err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}
