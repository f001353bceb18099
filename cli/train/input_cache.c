/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/train/input_cache.h"

#include "cli/train/input_query.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/sha256.h"
#include "lib/http/client/credentials.h"
#include "lib/http/client/download.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

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
	out->url = strndup(text, strcspn(text, "#"));
	return out->url != NULL ? 0 : tw_fail(err, TW_NOMEM, "URL");
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
	return tw_url_is(file) || tw_input_query_is(file);
}

/*
 * Download into the locked file, copy it to its digest's name, and empty it: the next
 * process that gets the lock must not resume a complete download.
 */
static int fill(const struct wanted *w, const struct tw_http_access *access,
		const char *dir, const char *part, int fd, char **path,
		struct tw_err *err)
{
	char digest[TW_SHA256_TEXT], *fresh = NULL;
	int rc = -1;

	if (asprintf(&fresh, "%s.whole", part) < 0) {
		fresh = NULL;
		return tw_fail(err, TW_NOMEM, "'%s'", part);
	}
	if (tw_input_query_is(w->url)) {
		if (tw_input_query_run(w->url, access, fresh, err) < 0 ||
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
		*path = strdup(file);
		snprintf(w.shown, sizeof(w.shown), "%s", file);
		if (sha256 != NULL)
			snprintf(w.sha256, sizeof(w.sha256), "%s", sha256);
	}
	if (*path == NULL) {
		tw_fail(err, TW_NOMEM, "path");
		goto out;
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
