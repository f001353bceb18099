/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train/input_cache.h"

#include "cli/command.h"
#include "cli/memory.h"
#include "lib/core/buf.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/sha256.h"
#include "lib/core/strs.h"
#include "lib/http/client/credentials.h"
#include "lib/http/client/download.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "trainer/record/prom_query.h"
#include "trainer/record/stop.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* ---- queries of Prometheus ---- */

#define PREFIX "prometheus+"
#define POINTS 11000
#define TIMEOUT_MS 150000
#define RETRY_MS 120000
#define ANSWER_MAX ((size_t)2 << 30)
#define CHUNKS_MAX 10000

struct query {
	char *url; /* without the query part */
	struct tw_strs match;
	struct tw_prom_range range;
	uint64_t chunk_ms; /* 0: the whole range */
};

static void query_release(struct query *q)
{
	free(q->url);
	tw_strs_clear(&q->match);
}

static bool is_query(const char *file)
{
	return strncmp(file, PREFIX "http://", strlen(PREFIX "http://")) == 0 ||
	       strncmp(file, PREFIX "https://", strlen(PREFIX "https://")) == 0;
}

/* ---- the text of a query ---- */

/* Replace %XX in place. False for a malformed one and for %00. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		char hex[3] = { 0 };

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		if (!isxdigit((unsigned char)from[1]) ||
		    !isxdigit((unsigned char)from[2]))
			return false;
		memcpy(hex, from + 1, 2);
		*to = (char)strtol(hex, NULL, 16);
		if (*to++ == '\0')
			return false;
		from += 2;
	}
	*to = '\0';
	return true;
}

static int take_pair(struct query *q, const char *key, char *value, struct tw_err *err)
{
	uint64_t step_ms;

	if (!unescape(value))
		return tw_fail(err, TW_INVALID, "a malformed %%XX");
	if (strcmp(key, "match") == 0)
		return tw_strs_adds(&q->match, value, err);
	if (strcmp(key, "start") == 0)
		return tw_parse_date_ms(value, &q->range.start_ms, err);
	if (strcmp(key, "end") == 0)
		return tw_parse_date_ms(value, &q->range.end_ms, err);
	if (strcmp(key, "chunk") == 0)
		return tw_parse_duration_ms(value, &q->chunk_ms, err);
	if (strcmp(key, "step") != 0)
		return tw_fail(err, TW_INVALID,
			       "unknown key; want match, start, end, step or chunk");
	if (tw_parse_duration_ms(value, &step_ms, err) < 0)
		return -1;
	q->range.step_ms = (int64_t)(step_ms <= TW_DATE_MAX_MS ? step_ms : 0);
	return 0;
}

static int check_query(const struct query *q, struct tw_err *err)
{
	if (q->range.start_ms == 0 || q->range.end_ms == 0 || q->range.step_ms <= 0)
		return tw_fail(err, TW_INVALID, "want start, end and step");
	if (q->range.start_ms > q->range.end_ms)
		return tw_fail(err, TW_INVALID, "the start is after the end");
	if (q->chunk_ms % (uint64_t)q->range.step_ms != 0)
		return tw_fail(err, TW_INVALID, "chunk is not a multiple of step");
	if (q->chunk_ms > 0 &&
	    (uint64_t)(q->range.end_ms - q->range.start_ms) / q->chunk_ms >= CHUNKS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d chunks", CHUNKS_MAX);
	return 0;
}

/* *q must be all zero; query_release() in any case. */
static int parse_query(const char *file, struct query *q, struct tw_err *err)
{
	char *rest, *pair;

	q->url = tw_must(strdup(file + strlen(PREFIX)));
	rest = strchr(q->url, '?');
	if (rest != NULL)
		*rest++ = '\0';
	while ((pair = strsep(&rest, "&")) != NULL) {
		char *value = pair + strcspn(pair, "=");

		if (*value != '\0')
			*value++ = '\0';
		if (take_pair(q, pair, value, err) < 0) {
			tw_err_wrap(err, "%.32s", pair);
			goto fail;
		}
	}
	if (check_query(q, err) == 0)
		return 0;
fail:
	return tw_err_wrap(err, "input " PREFIX "%.80s", q->url);
}

/* ---- chunks of a query ---- */

/* The text up to the query part, and all its pairs but start, end and chunk. */
static void add_common(const char *input, struct tw_buf *out)
{
	const char *at = strchr(input, '?') + 1;

	tw_buf_add(out, input, (size_t)(at - input));
	while (*at != '\0') {
		const size_t len = strcspn(at, "&");

		if (strncmp(at, "start=", 6) != 0 && strncmp(at, "end=", 4) != 0 &&
		    strncmp(at, "chunk=", 6) != 0) {
			tw_buf_add(out, at, len);
			tw_buf_adds(out, "&");
		}
		at += len + (at[len] == '&');
	}
}

static int add_chunks(const char *input, const struct query *q, struct tw_strs *out,
		      struct tw_err *err)
{
	int64_t from = q->range.start_ms;
	int rc = 0;

	do {
		const int64_t left = q->range.end_ms - from;
		const int64_t to = left > (int64_t)q->chunk_ms
					   ? from + (int64_t)q->chunk_ms
					   : q->range.end_ms;
		struct tw_buf text = { 0 };

		add_common(input, &text);
		tw_buf_addf(&text, "start=%" PRId64 ".%03d&end=%" PRId64 ".%03d",
			    from / 1000, (int)(from % 1000), to / 1000, (int)(to % 1000));
		tw_must_have(!tw_buf_failed(&text));
		rc = tw_strs_adds(out, text.data, err);
		tw_buf_clear(&text);
		from = to;
	} while (rc == 0 && from < q->range.end_ms);
	return rc;
}

/* The query of an input [MACHINE=]QUERY, or NULL. */
static const char *find_query(const char *input)
{
	const char *equals = strchr(input, '=');

	if (is_query(input))
		return input;
	return equals != NULL && is_query(equals + 1) ? equals + 1 : NULL;
}

static int chunk_one(const char *input, struct tw_strs *out, struct tw_err *err)
{
	const char *query = find_query(input);
	struct query q = { 0 };
	int rc = -1;

	if (query == NULL)
		return tw_strs_adds(out, input, err);
	if (parse_query(query, &q, err) == 0)
		rc = q.chunk_ms > 0 ? add_chunks(input, &q, out, err)
				    : tw_strs_adds(out, input, err);
	query_release(&q);
	return rc;
}

int tw_input_query_chunk(struct tw_strs *inputs, struct tw_err *err)
{
	struct tw_strs all = { 0 };

	for (size_t i = 0; i < inputs->count; i++)
		if (chunk_one(inputs->at[i], &all, err) < 0) {
			tw_strs_clear(&all);
			return -1;
		}
	tw_strs_clear(inputs);
	*inputs = all;
	return 0;
}

/* ---- asking ---- */

static void say(const char *text)
{
	fprintf(stderr, "tallywatt: %s\n", text);
}

/* Write the response of the query to path, in bounded memory. */
static int run_query(const char *file, const struct tw_http_access *access,
		     const char *path, struct tw_err *err)
{
	struct tw_prom_client *client = NULL;
	struct tw_prom_query_result result;
	struct tw_stop stop = { 0 };
	struct query q = { 0 };
	int rc = -1;

	if (tw_stop_open_by_call(&stop, err) < 0)
		return -1;
	if (parse_query(file, &q, err) < 0 ||
	    tw_prom_client_new(&(struct tw_prom_client_config){ .url = q.url,
								.access = *access,
								.timeout_ms = TIMEOUT_MS,
								.retry_ms = RETRY_MS,
								.answer_max = ANSWER_MAX,
								.stop = &stop,
								.say = say },
			       &client, err) < 0)
		goto out;
	rc = tw_prom_query_run(client,
			       &(struct tw_prom_query){ .range = q.range,
							.match = &q.match,
							.points = POINTS,
							.output = path },
			       &result, err);
out:
	tw_prom_client_free(client);
	tw_stop_close(&stop);
	query_release(&q);
	return rc;
}

/* ---- downloads ---- */

#define DIGEST_KEY "#sha256="
#define INPUT_MAX ((size_t)1 << 40)
#define CALL_MS 86400000
#define STALL_MS 60000
#define FIRST_WAIT_S 1
#define TRIES 6

/* A URL and its expected digest; "": any. */
struct wanted {
	char *url;
	char sha256[TW_SHA256_TEXT];
	char shown[TW_URL_SHOWN];
};

static int parse(const char *text, const char *sha256, struct wanted *out,
		 struct tw_err *err)
{
	const char *fragment = strchr(text, '#');

	tw_url_show(text, out->shown);
	if (fragment != NULL) {
		const char *digest = fragment + strlen(DIGEST_KEY);

		if (strncmp(fragment, DIGEST_KEY, strlen(DIGEST_KEY)) != 0 ||
		    strlen(digest) != TW_SHA256_TEXT - 1 ||
		    strspn(digest, "0123456789abcdef") != TW_SHA256_TEXT - 1)
			return tw_fail(err, TW_INVALID,
				       "'%s': want " DIGEST_KEY
				       " and 64 hexadecimal digits behind the URL",
				       out->shown);
		strcpy(out->sha256, digest);
	}
	if (sha256 != NULL)
		snprintf(out->sha256, sizeof(out->sha256), "%s", sha256);
	out->url = tw_must(strndup(text, strcspn(text, "#")));
	return 0;
}

static int find_dir(const struct tw_input_cache *c, char **out, struct tw_err *err)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int rc;

	if (c->dir != NULL)
		rc = tw_path_join(out, err, c->dir, NULL);
	else if (xdg != NULL && xdg[0] == '/')
		rc = tw_path_join(out, err, xdg, "tallywatt", NULL);
	else if (home != NULL && home[0] == '/')
		rc = tw_path_join(out, err, home, ".cache", "tallywatt", NULL);
	else
		rc = tw_fail(err, TW_INVALID, "--cache is missing, and so is HOME");
	return rc < 0 ? -1 : tw_dir_make(*out, err);
}

/* ---- the download ---- */

static int check_status(const struct tw_http_answer *a, const char *shown,
			struct tw_err *err)
{
	if (a->status == 200 || a->status == 206)
		return 0;
	return tw_fail(err,
		       a->status == 404   ? TW_NOTFOUND
		       : a->status >= 500 ? TW_IO
					  : TW_INVALID,
		       "'%s': status %u", shown, a->status);
}

static int try_download(const struct wanted *w, const struct tw_http_access *access,
			int fd, struct tw_err *err)
{
	const struct tw_http_call call = { .url = w->url,
					   .timeout_ms = CALL_MS,
					   .stall_ms = STALL_MS,
					   .answer_max = INPUT_MAX,
					   .access = access };
	struct tw_http_answer answer = { 0 };
	int rc;

	if (tw_download(&call, fd, &answer, err) < 0)
		return tw_err_wrap(err, "'%s'", w->shown);
	rc = check_status(&answer, w->shown, err);
	tw_http_answer_release(&answer);
	return rc;
}

/* Each try resumes where the last one broke off. */
static int download(const struct wanted *w, const struct tw_http_access *access, int fd,
		    struct tw_err *err)
{
	struct timespec wait = { .tv_sec = FIRST_WAIT_S };

	for (int left = TRIES; left > 0; left--) {
		struct tw_err why = { 0 };

		if (try_download(w, access, fd, &why) == 0)
			return 0;
		if (why.code != TW_IO || left == 1)
			return tw_fail(err, why.code, "%s", why.text);
		fprintf(stderr, "tallywatt: %s; trying again in %ld s\n", why.text,
			(long)wait.tv_sec);
		nanosleep(&wait, NULL);
		wait.tv_sec *= 2;
	}
	return -1;
}

/* Copy the received bytes to path, and compute their digest. */
static int copy(int fd, const char *path, char digest[TW_SHA256_TEXT], struct tw_err *err)
{
	struct tw_download_file file;
	struct tw_replace to = { 0 };
	struct tw_sha256 sum;
	char piece[1 << 16];
	uint64_t done = 0;

	if (tw_download_file_inspect(fd, &file, err) < 0 ||
	    tw_replace_open(&to, path, err) < 0)
		return -1;
	tw_sha256_start(&sum);
	while (done < file.bytes) {
		const ssize_t n =
			pread(fd, piece, sizeof(piece), (off_t)(file.line_len + done));

		if (n <= 0) {
			tw_fail_errno(err, n < 0 ? errno : EIO, "cannot read '%s'", path);
			goto fail;
		}
		tw_sha256_add(&sum, piece, (size_t)n);
		if (tw_replace_write(&to, piece, (size_t)n, err) < 0)
			goto fail;
		done += (uint64_t)n;
	}
	tw_sha256_end(&sum, digest);
	return tw_replace_commit(&to, err);
fail:
	tw_replace_abort(&to);
	return -1;
}

static int check_digest(const struct wanted *w, const char *digest, struct tw_err *err)
{
	if (w->sha256[0] == '\0' || strcmp(w->sha256, digest) == 0)
		return 0;
	return tw_fail(err, TW_INVALID,
		       "'%s': the SHA-256 digest is %.12s.., not %.12s..", w->shown,
		       digest, w->sha256);
}

/* ---- the directory ---- */

/* The path of a complete download, if there is one with the wanted digest. */
static int find_kept(const struct wanted *w, const char *dir, char **path,
		     struct tw_err *err)
{
	char digest[TW_SHA256_TEXT];

	if (w->sha256[0] == '\0')
		return 0;
	if (tw_path_join(path, err, dir, w->sha256, NULL) < 0)
		return -1;
	if (access(*path, F_OK) == 0) {
		if (tw_sha256_file(*path, digest, err) < 0)
			return -1;
		if (strcmp(digest, w->sha256) == 0)
			return 0;
		unlink(*path);
	}
	free(*path);
	*path = NULL;
	return 0;
}

/* Open the file of the download and wait for another process that writes to it. */
static int open_download(const struct wanted *w, const char *dir, char **path, int *fd,
			 struct tw_err *err)
{
	char name[TW_SHA256_TEXT + 16];

	tw_sha256_text(w->url, strlen(w->url), name);
	strcat(name, ".download");
	if (tw_path_join(path, err, dir, name, NULL) < 0)
		return -1;
	*fd = open(*path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0 || flock(*fd, LOCK_EX) < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", *path);
	return 0;
}

static bool is_remote(const char *file)
{
	return tw_url_is(file) || is_query(file);
}

/*
 * Download into the locked file, copy it to its digest's name, and empty it: the next
 * process that gets the lock must not resume a complete download.
 */
static int fill(const struct wanted *w, const struct tw_http_access *access,
		const char *dir, const char *part, int fd, char **path,
		struct tw_err *err)
{
	char digest[TW_SHA256_TEXT], *fresh = tw_must_printf("%s.whole", part);
	int rc = -1;

	if (is_query(w->url)) {
		if (run_query(w->url, access, fresh, err) < 0 ||
		    tw_sha256_file(fresh, digest, err) < 0)
			goto out;
	} else if (download(w, access, fd, err) < 0 || copy(fd, fresh, digest, err) < 0) {
		goto out;
	}
	if (ftruncate(fd, 0) < 0) {
		tw_fail_errno(err, errno, "'%s'", dir);
		goto out;
	}
	if (check_digest(w, digest, err) < 0 ||
	    tw_path_join(path, err, dir, digest, NULL) < 0)
		goto out;
	if (rename(fresh, *path) < 0) {
		tw_fail_errno(err, errno, "cannot rename '%s'", fresh);
		goto out;
	}
	rc = 0;
out:
	if (rc < 0)
		unlink(fresh);
	free(fresh);
	return rc;
}

static int get(const struct tw_input_cache *c, const struct wanted *w, char **path,
	       struct tw_err *err)
{
	struct tw_credentials web = { 0 };
	char *dir = NULL, *part = NULL;
	int fd = -1, rc = -1;

	if (find_dir(c, &dir, err) < 0 || find_kept(w, dir, path, err) < 0)
		goto out;
	if (*path != NULL) {
		rc = 0;
		goto out;
	}
	if (tw_http_init(err) < 0 ||
	    tw_command_credentials(&web, c->web, NULL, "tallywatt", err) < 0 ||
	    open_download(w, dir, &part, &fd, err) < 0 ||
	    find_kept(w, dir, path, err) < 0)
		goto out;
	rc = *path != NULL ? 0 : fill(w, &web.access, dir, part, fd, path, err);
out:
	if (fd >= 0)
		close(fd);
	tw_credentials_release(&web);
	free(part);
	free(dir);
	return rc;
}

int tw_input_cache_get(const struct tw_input_cache *c, const char *file,
		       const char *sha256, char **path, char *digest, struct tw_err *err)
{
	struct wanted w = { 0 };
	char found[TW_SHA256_TEXT];
	int rc = -1;

	*path = NULL;
	if (is_remote(file)) {
		if (parse(file, sha256, &w, err) < 0 || get(c, &w, path, err) < 0)
			goto out;
	} else {
		*path = tw_must(strdup(file));
		snprintf(w.shown, sizeof(w.shown), "%s", file);
		if (sha256 != NULL)
			snprintf(w.sha256, sizeof(w.sha256), "%s", sha256);
	}
	if (digest == NULL && w.sha256[0] == '\0') {
		rc = 0;
		goto out;
	}
	if (tw_sha256_file(*path, found, err) < 0 || check_digest(&w, found, err) < 0)
		goto out;
	if (digest != NULL)
		strcpy(digest, found);
	rc = 0;
out:
	free(w.url);
	if (rc < 0) {
		free(*path);
		*path = NULL;
	}
	return rc;
}

const char *tw_input_base_name(const char *file, int *len)
{
	size_t end = is_remote(file) ? strcspn(file, "?#") : strlen(file);
	size_t start;

	if (end > 0 && is_remote(file) && file[end - 1] == '/')
		end--;
	start = end;

	while (start > 0 && file[start - 1] != '/')
		start--;
	*len = (int)(end - start);
	return file + start;
}
