/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/meter_file.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 128

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

int tw_meter_parse(const char *data, size_t len, uint64_t *out, struct tw_err *err)
{
	while (len > 0 && is_blank(data[len - 1]))
		len--;
	if (!tw_parse_u64(data, len, out))
		return tw_fail(err, TW_PARSE, "want a number");
	return 0;
}

int tw_meter_number(const char *path, uint64_t *out, struct tw_err *err)
{
	char text[LINE_MAX_BYTES];
	size_t len;

	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, err) < 0)
		return -1;
	if (tw_meter_parse(text, len, out, err) < 0)
		return tw_err_wrap(err, "'%s'", path);
	return 0;
}

int tw_meter_line(const char *path, char *out, size_t size, struct tw_err *err)
{
	char text[LINE_MAX_BYTES];
	size_t len;

	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, err) < 0)
		return -1;
	len = strcspn(text, "\n");
	while (len > 0 && is_blank(text[len - 1]))
		len--;
	if (len == 0 || len >= size)
		return tw_fail(err, TW_PARSE, "'%s': want a name of 1 to %zu bytes", path,
			       size - 1);
	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
	out[len] = '\0';
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_line(const char *dir, const char *file, const char *text)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH], line[TW_ZONE_NAME];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) < sizeof(path) &&
	       tw_meter_line(path, line, sizeof(line), &ignored) == 0 &&
	       strcmp(line, text) == 0;
}

/*
 * The MI300A is a processor of servers with a GPU; Documentation/gpu/amdgpu/thermal.rst:
 * power "includes the CPU" on such. Other processors' GPUs have a voltage of the
 * northbridge.
 */
enum tw_amdgpu tw_amdgpu_covers(const char *dir)
{
	if (is_line(dir, "device/device", "0x74a0"))
		return TW_AMDGPU_MODULE;
	return is_line(dir, "in1_label", "vddnb") ? TW_AMDGPU_INSIDE : TW_AMDGPU_CARD;
}

int tw_meter_list(const char *dir, const char *prefix, unsigned *at, size_t max,
		  size_t *count, struct tw_err *err)
{
	const size_t len = strlen(prefix);
	const struct dirent *d;
	DIR *open_dir = opendir(dir);
	uint64_t n;

	if (open_dir == NULL)
		return tw_fail_errno(err, errno, "cannot open '%s'", dir);
	*count = 0;
	while (*count < max && (d = readdir(open_dir)) != NULL)
		if (strncmp(d->d_name, prefix, len) == 0 &&
		    tw_parse_u64(d->d_name + len, strlen(d->d_name + len), &n) &&
		    n < UINT32_MAX)
			at[(*count)++] = (unsigned)n;
	closedir(open_dir);
	qsort(at, *count, sizeof(*at), compare_numbers);
	return 0;
}

/*
 * Read by path, so that a replaced file is seen; if that is denied, read the open file.
 */
static int read_number(const char *path, int fd, uint64_t *out, struct tw_err *err)
{
	struct tw_err denied = { 0 };
	char text[LINE_MAX_BYTES];
	ssize_t len;

	if (tw_meter_number(path, out, &denied) == 0)
		return 0;
	len = denied.code == TW_DENIED && fd >= 0 ? pread(fd, text, sizeof(text), 0) : -1;
	if (len < 0)
		return tw_fail(err, denied.code, "%s", denied.text);
	if (tw_meter_parse(text, (size_t)len, out, err) < 0)
		return tw_err_wrap(err, "'%s'", path);
	return 0;
}

/* The files hold uJ or uW. */
static void read_zone(const struct tw_zone *z, int fd, struct tw_reading *out)
{
	struct tw_err err = { 0 };
	uint64_t value;

	*out = (struct tw_reading){ 0 };
	if (read_number(z->path, fd, &value, &err) < 0) {
		tw_reading_fail(out, &err);
		return;
	}
	out->readable = true;
	if (z->reports_power)
		out->power_w = (double)value / 1e6;
	else
		out->energy_uj = value;
}

static int append(struct tw_zone **at, size_t *count, const struct tw_zone *z,
		  struct tw_err *err)
{
	if (*count == TW_ZONES_MAX)
		return tw_fail(err, TW_INVALID, "'%s': more than %d zones", z->path,
			       TW_ZONES_MAX);
	if (!tw_resize(at, *count + 1, sizeof(**at)))
		return tw_fail(err, TW_NOMEM, "zones");
	(*at)[(*count)++] = *z;
	return 0;
}

int tw_zone_list_add(struct tw_zone_list *l, const struct tw_zone *z, struct tw_err *err)
{
	return append(&l->at, &l->count, z, err);
}

int tw_zone_list_leave(struct tw_zone_list *l, const struct tw_zone *z, const char *why,
		       struct tw_err *err)
{
	if (append(&l->left, &l->left_count, z, err) < 0)
		return -1;
	l->left[l->left_count - 1].note = why;
	return 0;
}

/* ACPI power meters return ENODATA until the firmware has measured. */
static bool has_no_data_yet(int fd)
{
	char c;

	return fd >= 0 && pread(fd, &c, 1, 0) < 0 && errno == ENODATA;
}

int tw_zone_list_open(struct tw_zone_list *l, struct tw_err *err)
{
	uint64_t value;
	bool any = false;

	if (l->count == 0)
		return tw_fail(err, TW_NOTFOUND, "no zones");
	l->fd = malloc(l->count * sizeof(*l->fd));
	if (l->fd == NULL)
		return tw_fail(err, TW_NOMEM, "zones");
	for (size_t i = 0; i < l->count; i++) {
		struct tw_err ignored = { 0 };

		l->fd[i] = open(l->at[i].path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		any = any || tw_meter_number(l->at[i].path, &value, &ignored) == 0 ||
		      has_no_data_yet(l->fd[i]);
	}
	return any ? 0 : tw_meter_number(l->at[0].path, &value, err);
}

const struct tw_zone *tw_zone_list_zones(const void *state, size_t *count)
{
	const struct tw_zone_list *l = state;

	*count = l->count;
	return l->at;
}

const struct tw_zone *tw_zone_list_left_out(const void *state, size_t *count)
{
	const struct tw_zone_list *l = state;

	*count = l->left_count;
	return l->left;
}

void tw_zone_list_read(void *state, struct tw_reading *out)
{
	const struct tw_zone_list *l = state;

	for (size_t i = 0; i < l->count; i++)
		read_zone(&l->at[i], l->fd[i], &out[i]);
}

void tw_zone_list_close(void *state)
{
	struct tw_zone_list *l = state;

	if (l == NULL)
		return;
	for (size_t i = 0; l->fd != NULL && i < l->count; i++)
		if (l->fd[i] >= 0)
			close(l->fd[i]);
	free(l->fd);
	free(l->at);
	free(l->left);
	free(l);
}
