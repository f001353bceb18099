/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/cgroup.h"

#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/hash.h"
#include "lib/core/num.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits of a search: directories opened, and depth. */
#define SEARCH_MAX 20000
#define DEPTH_MAX 32

/* /proc/PID/cgroup has a line for each hierarchy. */
#define CGROUP_TEXT 16384

const char *const tw_cgroup_choice_names[] = { "auto", "v1", "v2", NULL };

struct tw_cgroup_tree {
	const char *name;
	char *proc;
	char *top;    /* mount point of the hierarchy that counts CPU time; NULL: none */
	char *shares; /* of v1's controller cpu */
	char *memory; /* of v1's controller memory */
	/*
	 * The root of the collector's cgroup namespace, as a path below top; "" if that
	 * is top itself, or is outside of it. /proc/PID/cgroup is relative to it.
	 */
	char root[TW_CGROUP_PATH];
	bool v1;
	int hierarchy;
	bool searched; /* the tree was searched in this tick */
};

/* ---- finding the hierarchy ---- */

/* A v1 hierarchy may combine controllers; its directory has all their names. */
static const char *const v1_places[] = { "cpuacct", "cpu,cpuacct", "cpuacct,cpu" };
static const char *const v1_shares[] = { "cpu", "cpu,cpuacct", "cpuacct,cpu" };
static const char *const v1_memory[] = { "memory" };
static const char *const v2_places[] = { "fs/cgroup", "fs/cgroup/unified" };

static int find_place(const struct tw_roots *roots, const char *folder,
		      const char *const *places, size_t count, const char *file,
		      char **out, struct tw_err *err)
{
	for (size_t i = 0; i < count && *out == NULL; i++) {
		char *top = NULL, path[PATH_MAX];

		if (tw_path_join(&top, err, roots->sys, folder, places[i], NULL) < 0)
			return -1;
		snprintf(path, sizeof(path), "%s/%s", top, file);
		if (faccessat(AT_FDCWD, path, F_OK, 0) == 0)
			*out = top;
		else
			free(top);
	}
	return 0;
}

/* "cpuacct 2 1 1": name, hierarchy, cgroups, enabled. */
static int read_hierarchy(const char *text)
{
	const char *line = strstr(text, "\ncpuacct\t"), *end;
	uint64_t n;

	if (line == NULL)
		return 0;
	line += strlen("\ncpuacct\t");
	end = line + strspn(line, "0123456789");
	return tw_parse_u64(line, (size_t)(end - line), &n) && n < INT_MAX ? (int)n : 0;
}

static int find_v1(struct tw_cgroup_tree *t, const struct tw_roots *roots,
		   struct tw_err *err)
{
	struct tw_err absent = { 0 };
	char path[PATH_MAX], text[4096];
	size_t len;

	if (find_place(roots, "fs/cgroup", v1_places, 3, "cpuacct.usage", &t->top, err) <
		    0 ||
	    t->top == NULL)
		return t->top == NULL && err->code == TW_OK ? 0 : -1;
	t->v1 = true;
	t->name = "v1 cpuacct";
	snprintf(path, sizeof(path), "%s/cgroups", roots->proc);
	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &absent) == 0)
		t->hierarchy = read_hierarchy(text);
	return find_place(roots, "fs/cgroup", v1_shares, 3, "cpu.shares", &t->shares,
			  err) < 0
		       ? -1
		       : find_place(roots, "fs/cgroup", v1_memory, 1,
				    "memory.usage_in_bytes", &t->memory, err);
}

static int find_v2(struct tw_cgroup_tree *t, const struct tw_roots *roots, size_t places,
		   struct tw_err *err)
{
	if (find_place(roots, ".", v2_places, places, "cgroup.controllers", &t->top,
		       err) < 0)
		return -1;
	if (t->top != NULL)
		t->name = "v2";
	return 0;
}

static int find(struct tw_cgroup_tree *t, const struct tw_roots *roots,
		enum tw_cgroup_choice choice, struct tw_err *err)
{
	if (choice == TW_CGROUPS_AUTO && find_v2(t, roots, 1, err) < 0)
		return -1;
	if (choice != TW_CGROUPS_V2 && t->top == NULL && find_v1(t, roots, err) < 0)
		return -1;
	if (choice != TW_CGROUPS_V1 && t->top == NULL && find_v2(t, roots, 2, err) < 0)
		return -1;
	if (choice != TW_CGROUPS_AUTO && t->top == NULL)
		return tw_fail(err, TW_NOTFOUND, "no cgroups %s below '%s/fs/cgroup'",
			       tw_cgroup_choice_names[choice], roots->sys);
	return 0;
}

void tw_cgroup_tree_close(struct tw_cgroup_tree *t)
{
	if (t == NULL)
		return;
	free(t->memory);
	free(t->shares);
	free(t->top);
	free(t->proc);
	free(t);
}

const char *tw_cgroup_tree_name(const struct tw_cgroup_tree *t)
{
	return t->name;
}

bool tw_cgroup_tree_is_v1(const struct tw_cgroup_tree *t)
{
	return t->v1;
}

int tw_cgroup_tree_hierarchy(const struct tw_cgroup_tree *t)
{
	return t->hierarchy;
}

const char *tw_cgroup_tree_top(const struct tw_cgroup_tree *t)
{
	return t->top;
}

void tw_cgroup_tree_tick(struct tw_cgroup_tree *t)
{
	t->searched = false;
}

/* ---- paths and ids ---- */

bool tw_cgroup_line_find(const char *text, size_t len, int hierarchy,
			 char out[TW_CGROUP_PATH])
{
	static const char deleted[] = " (deleted)";
	const char *end = text + len;
	uint64_t number;

	for (const char *line = text, *next; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *colon, *path;
		size_t n;

		stop = stop != NULL ? stop : end;
		next = stop < end ? stop + 1 : end;
		colon = memchr(line, ':', (size_t)(stop - line));
		if (colon == NULL ||
		    !tw_parse_u64(line, (size_t)(colon - line), &number) ||
		    number != (uint64_t)hierarchy)
			continue;
		path = memchr(colon + 1, ':', (size_t)(stop - colon - 1));
		if (path == NULL || path + 1 == stop || path[1] != '/')
			return false;
		n = (size_t)(stop - ++path);
		if (n > sizeof(deleted) - 1 && memcmp(stop - (sizeof(deleted) - 1),
						      deleted, sizeof(deleted) - 1) == 0)
			n -= sizeof(deleted) - 1;
		if (n >= TW_CGROUP_PATH || memchr(path, '\0', n) != NULL)
			return false;
		memcpy(out, path, n);
		out[n] = '\0';
		return true;
	}
	return false;
}

/* The path in a file /proc/PID/cgroup. */
static bool read_line(const struct tw_cgroup_tree *t, const char *path,
		      char out[TW_CGROUP_PATH])
{
	char text[CGROUP_TEXT];
	struct tw_err err = { 0 };
	size_t len;

	return tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &err) == 0 &&
	       tw_cgroup_line_find(text, len, t->hierarchy, out);
}

/* A path relative to the root of the namespace, which may begin with "/..", from top. */
static bool resolve(const struct tw_cgroup_tree *t, char path[TW_CGROUP_PATH])
{
	size_t kept = strlen(t->root);
	char relative[TW_CGROUP_PATH];
	const char *rest = relative;

	if (kept == 0)
		return true;
	memcpy(relative, path, sizeof(relative));
	for (; strncmp(rest, "/..", 3) == 0 && (rest[3] == '/' || rest[3] == '\0');
	     rest += 3)
		while (kept > 0 && t->root[--kept] != '/')
			;
	rest += strcmp(rest, "/") == 0 && kept > 0;
	if (kept + strlen(rest) >= TW_CGROUP_PATH)
		return false;
	memcpy(path, t->root, kept);
	strcpy(path + kept, kept + strlen(rest) > 0 ? rest : "/");
	return true;
}

static bool read_path(const struct tw_cgroup_tree *t, uint32_t tgid,
		      char out[TW_CGROUP_PATH])
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u/cgroup", t->proc, tgid);
	return read_line(t, path, out) && resolve(t, out);
}

bool tw_cgroup_tree_own(const struct tw_cgroup_tree *t, char out[TW_CGROUP_PATH])
{
	return read_path(t, (uint32_t)getpid(), out);
}

/* The id of a path; 0 with errno set if its directory cannot be read. */
static uint64_t id_of_path(const struct tw_cgroup_tree *t, const char *path)
{
	char whole[PATH_MAX];
	struct stat st;

	errno = ENOENT;
	if (t->top == NULL ||
	    snprintf(whole, sizeof(whole), "%s%s", t->top, path) >= (int)sizeof(whole) ||
	    stat(whole, &st) < 0)
		return 0;
	return st.st_ino;
}

/* Whether this process is in the cgroup of a directory. */
static bool has_self(const char *dir)
{
	char path[PATH_MAX], line[32];
	bool found = false;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", dir) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = atoi(line) == getpid();
	if (f != NULL)
		fclose(f);
	return found;
}

/*
 * Search the directories below path[0..len) for an inode; 0: for the cgroup of this
 * process. path is changed, and restored if nothing is found.
 */
static bool search_below(const struct tw_cgroup_tree *t, char *path, size_t len,
			 int depth, uint64_t id, size_t *left)
{
	DIR *dir = opendir(path);
	const struct dirent *d;
	bool found = false;

	if (dir == NULL)
		return false;
	while (!found && *left > 0 && (d = readdir(dir)) != NULL) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.' ||
		    len + strlen(d->d_name) + 2 > PATH_MAX)
			continue;
		--*left;
		path[len] = '/';
		strcpy(path + len + 1, d->d_name);
		found = (id != 0 ? d->d_ino == id : has_self(path)) ||
			(depth < DEPTH_MAX &&
			 search_below(t, path, len + 1 + strlen(d->d_name), depth + 1, id,
				      left));
		if (!found)
			path[len] = '\0';
	}
	closedir(dir);
	return found;
}

static bool search_tree(struct tw_cgroup_tree *t, uint64_t id, char out[TW_CGROUP_PATH])
{
	size_t left = SEARCH_MAX, top;
	char path[PATH_MAX];

	if (t->top == NULL || t->searched)
		return false;
	t->searched = true;
	top = (size_t)snprintf(path, sizeof(path), "%s", t->top);
	if (top >= sizeof(path) || !search_below(t, path, top, 0, id, &left) ||
	    strlen(path + top) >= TW_CGROUP_PATH)
		return false;
	strcpy(out, path + top);
	return true;
}

/*
 * A container may have its own cgroup namespace, and the host's tree at top: this process
 * is then elsewhere in it than /proc/self/cgroup says.
 */
static void find_root(struct tw_cgroup_tree *t)
{
	char own[TW_CGROUP_PATH], path[PATH_MAX];
	size_t left = SEARCH_MAX, top, n;

	snprintf(path, sizeof(path), "%s/self/cgroup", t->proc);
	if (t->top == NULL || !read_line(t, path, own))
		return;
	top = (size_t)snprintf(path, sizeof(path), "%s%s", t->top, own);
	if (top >= sizeof(path) || has_self(path))
		return;
	top = strlen(t->top);
	path[top] = '\0';
	if (!search_below(t, path, top, 0, 0, &left))
		return;
	/* The path from the root of the namespace is the end of that from top. */
	n = strcmp(own, "/") == 0 ? 0 : strlen(own);
	if (strlen(path + top) <= n || strlen(path + top) >= sizeof(t->root) ||
	    strcmp(path + strlen(path) - n, n > 0 ? own : "") != 0)
		return;
	snprintf(t->root, sizeof(t->root), "%.*s", (int)(strlen(path + top) - n),
		 path + top);
}

int tw_cgroup_tree_open(const struct tw_roots *roots, enum tw_cgroup_choice choice,
			struct tw_cgroup_tree **out, struct tw_err *err)
{
	struct tw_cgroup_tree *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "cgroups");
	t->name = "none";
	t->proc = strdup(roots->proc);
	if (t->proc == NULL)
		tw_fail(err, TW_NOMEM, "cgroups");
	if (t->proc == NULL || find(t, roots, choice, err) < 0) {
		tw_cgroup_tree_close(t);
		return -1;
	}
	find_root(t);
	*out = t;
	return 0;
}

bool tw_cgroup_tree_path(struct tw_cgroup_tree *t, uint64_t id, uint32_t tgid,
			 char out[TW_CGROUP_PATH])
{
	char path[TW_CGROUP_PATH];
	uint64_t seen;

	if (id_of_path(t, "/") == id) {
		strcpy(out, "/");
		return true;
	}
	if (tgid != 0 && read_path(t, tgid, path)) {
		seen = id_of_path(t, path);
		/* The directory does not exist here: a container's view of its host. */
		if (seen == id || (seen == 0 && errno == ENOENT)) {
			strcpy(out, path);
			return true;
		}
	}
	return search_tree(t, id, out);
}

/* A hash of the path, with a bit set that no inode number has. */
static uint64_t number_of(const char *path)
{
	return tw_hash(path, strlen(path)) | UINT64_C(1) << 63;
}

uint64_t tw_cgroup_tree_id(struct tw_cgroup_tree *t, uint32_t tgid)
{
	char path[TW_CGROUP_PATH];
	uint64_t id;

	if (!read_path(t, tgid, path))
		return 0;
	id = id_of_path(t, path);
	return id != 0 ? id : number_of(path);
}

bool tw_cgroup_tree_gone(const struct tw_cgroup_tree *t, const char *path)
{
	return id_of_path(t, path) == 0 && errno == ENOENT;
}

/* Whether another user than root may fill the cgroup of a directory: see *user. */
static bool is_given(const char *dir, const struct stat *st, uid_t root, uint32_t *user)
{
	char path[PATH_MAX];
	struct stat procs;

	*user = st->st_uid;
	if (st->st_uid != root)
		return true;
	if (snprintf(path, sizeof(path), "%s/cgroup.procs", dir) < (int)sizeof(path) &&
	    stat(path, &procs) == 0 && procs.st_uid != root) {
		*user = procs.st_uid;
		return true;
	}
	*user = UINT32_MAX;
	return (st->st_mode & S_IWOTH) != 0 ||
	       ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0);
}

size_t tw_cgroup_tree_trusted(const struct tw_cgroup_tree *t, const char *path,
			      uint32_t *user)
{
	static const char users[] = "/user.slice/"; /* removed at the last logout */
	const size_t len = strlen(path);
	char whole[PATH_MAX], *below = whole;
	struct stat top, st;
	size_t end = 0;

	*user = 0;
	if (t->top == NULL || stat(t->top, &top) < 0 || strncmp(path, "/../", 4) == 0 ||
	    snprintf(whole, sizeof(whole), "%s%s", t->top, path) >= (int)sizeof(whole))
		return len;
	below += strlen(t->top);
	while (end < len) {
		const bool first = end == 0;

		end += 1 + strcspn(path + end + 1, "/");
		below[end] = '\0';
		if (stat(whole, &st) < 0) {
			/* Otherwise this process does not see the tree. */
			if (first && strncmp(path, users, strlen(users)) != 0)
				break;
			*user = UINT32_MAX;
			return end;
		}
		if (is_given(whole, &st, top.st_uid, user))
			return end;
		below[end] = path[end];
	}
	*user = 0;
	return len;
}

/* The hierarchies of v1's controllers; v2 has one for all. */
enum controller { CPUACCT, CPU, MEMORY };

/* Read a file of a cgroup. False if it cannot be read, or does not fit. */
static bool read_file(const struct tw_cgroup_tree *t, enum controller of,
		      const char *path, const char *name, char *text, size_t size,
		      size_t *len)
{
	const char *top = !t->v1 || of == CPUACCT ? t->top
			  : of == CPU             ? t->shares
						  : t->memory;
	struct tw_err err = { 0 };
	char whole[PATH_MAX];

	return top != NULL &&
	       snprintf(whole, sizeof(whole), "%s%s/%s", top, path, name) <
		       (int)sizeof(whole) &&
	       tw_file_read_at(AT_FDCWD, whole, text, size, len, &err) == 0;
}

/* Convert v2's weight 1..10000 to v1's shares 2..262144, as container runtimes do. */
static uint64_t shares_of_weight(uint64_t weight)
{
	return weight < 1 || weight > 10000 ? 0 : 2 + (weight - 1) * 262142 / 9999;
}

uint32_t tw_cgroup_tree_shares(const struct tw_cgroup_tree *t, const char *path)
{
	char text[64];
	uint64_t n;
	size_t len;

	if (!read_file(t, CPU, path, t->v1 ? "cpu.shares" : "cpu.weight", text,
		       sizeof(text), &len) ||
	    !tw_parse_u64(text, strcspn(text, "\n"), &n))
		return 0;
	if (!t->v1)
		n = shares_of_weight(n);
	return n <= UINT32_MAX ? (uint32_t)n : 0;
}

bool tw_cgroup_tree_cpu_ns(const struct tw_cgroup_tree *t, const char *path,
			   uint64_t *out)
{
	static const char usage[] = "usage_usec ";
	char text[4096];
	uint64_t us;
	size_t len;

	if (t->v1)
		return read_file(t, CPUACCT, path, "cpuacct.usage", text, sizeof(text),
				 &len) &&
		       tw_parse_u64(text, strcspn(text, "\n"), out);
	/*
	 * The machine's root includes interrupts. The root of a cgroup namespace is not a
	 * root cgroup: it has a cgroup.type.
	 */
	if (strcmp(path, "/") == 0 &&
	    !read_file(t, CPUACCT, path, "cgroup.type", text, sizeof(text), &len))
		return false;
	if (!read_file(t, CPUACCT, path, "cpu.stat", text, sizeof(text), &len) ||
	    strncmp(text, usage, strlen(usage)) != 0 ||
	    !tw_parse_u64(text + strlen(usage), strcspn(text + strlen(usage), "\n"),
			  &us) ||
	    us > UINT64_MAX / 1000)
		return false;
	*out = us * 1000;
	return true;
}

/* ---- usage ---- */

#define TEXT_MAX 16384

/* Source of a figure: a file with one number, or the line of a key. */
struct place {
	enum controller of;
	const char *file;
	const char *key; /* NULL: the file is one number */
	enum { AS_IS, NANOS, TICKS } unit;
};

#define INACTIVE_FILE TW_CGROUP_FIGURES /* subtracted from memory for the working set */

static const struct place v2[TW_CGROUP_FIGURES + 1] = {
	[TW_CGROUP_CPU_US] = { CPUACCT, "cpu.stat", "usage_usec", AS_IS },
	[TW_CGROUP_USER_US] = { CPUACCT, "cpu.stat", "user_usec", AS_IS },
	[TW_CGROUP_SYSTEM_US] = { CPUACCT, "cpu.stat", "system_usec", AS_IS },
	[TW_CGROUP_MEMORY_BYTES] = { MEMORY, "memory.current", NULL, AS_IS },
	[TW_CGROUP_WORKING_SET_BYTES] = { MEMORY, "memory.current", NULL, AS_IS },
	[INACTIVE_FILE] = { MEMORY, "memory.stat", "inactive_file", AS_IS },
};

static const struct place v1[TW_CGROUP_FIGURES + 1] = {
	[TW_CGROUP_CPU_US] = { CPUACCT, "cpuacct.usage", NULL, NANOS },
	[TW_CGROUP_USER_US] = { CPUACCT, "cpuacct.stat", "user", TICKS },
	[TW_CGROUP_SYSTEM_US] = { CPUACCT, "cpuacct.stat", "system", TICKS },
	[TW_CGROUP_MEMORY_BYTES] = { MEMORY, "memory.usage_in_bytes", NULL, AS_IS },
	[TW_CGROUP_WORKING_SET_BYTES] = { MEMORY, "memory.usage_in_bytes", NULL, AS_IS },
	[INACTIVE_FILE] = { MEMORY, "memory.stat", "total_inactive_file", AS_IS },
};

bool tw_cgroup_stat_find(const char *text, size_t len, const char *key, uint64_t *out)
{
	const size_t n = strlen(key);
	const char *end = text + len;

	for (const char *line = text, *next; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		stop = stop != NULL ? stop : end;
		next = stop < end ? stop + 1 : end;
		if ((size_t)(stop - line) > n && memcmp(line, key, n) == 0 &&
		    line[n] == ' ')
			return tw_parse_u64(line + n + 1, (size_t)(stop - line) - n - 1,
					    out);
	}
	return false;
}

static bool in_micros(const struct place *p, uint64_t value, uint64_t *out)
{
	const uint64_t tick_us = 1000000 / (uint64_t)tw_proc_ticks_per_s();

	if (p->unit == TICKS && value > UINT64_MAX / tick_us)
		return false;
	*out = p->unit == TICKS   ? value * tick_us
	       : p->unit == NANOS ? value / 1000
				  : value;
	return true;
}

static bool read_place(const struct tw_cgroup_tree *t, const char *path,
		       const struct place *p, uint64_t *out)
{
	char text[TEXT_MAX];
	uint64_t value;
	size_t len;

	if (!read_file(t, p->of, path, p->file, text, sizeof(text), &len))
		return false;
	if (p->key == NULL && len > 0 && text[len - 1] == '\n')
		len--;
	return (p->key != NULL ? tw_cgroup_stat_find(text, len, p->key, &value)
			       : tw_parse_u64(text, len, &value)) &&
	       in_micros(p, value, out);
}

void tw_cgroup_use_read(const struct tw_cgroup_tree *t, const char *path,
			struct tw_cgroup_use *out)
{
	const struct place *places = tw_cgroup_tree_is_v1(t) ? v1 : v2;
	uint64_t *set = &out->of[TW_CGROUP_WORKING_SET_BYTES], inactive;

	for (int i = 0; i < TW_CGROUP_FIGURES; i++)
		out->known[i] = read_place(t, path, &places[i], &out->of[i]);
	/* The files are read one after the other and may disagree. */
	if (out->known[TW_CGROUP_WORKING_SET_BYTES] &&
	    read_place(t, path, &places[INACTIVE_FILE], &inactive))
		*set = *set > inactive ? *set - inactive : 0;
	else
		out->known[TW_CGROUP_WORKING_SET_BYTES] = false;
}
