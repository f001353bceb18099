/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/processors.h"

#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A processor takes about 1.5 KiB. */
#define CPUINFO_MAX (64u << 20)

#define FIELD(key, member)                                         \
	{                                                          \
		key, offsetof(struct tw_processor, member),        \
			sizeof(((struct tw_processor *)0)->member) \
	}

/* The line "processor" starts the next processor. */
static const struct {
	const char *key;
	size_t offset, size;
} fields[] = {
	FIELD("processor", number),  FIELD("vendor_id", vendor),
	FIELD("cpu family", family), FIELD("model", model_number),
	FIELD("model name", model),  FIELD("physical id", package),
	FIELD("core id", core),      FIELD("stepping", stepping),
};

/* Skip blanks at both ends; returns the length. */
static size_t trim(const char **at, const char *end)
{
	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	while (end > *at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (size_t)(end - *at);
}

/* Replace bytes that are not printable ASCII by '?': the value becomes a label. */
static void take_value(char *to, size_t size, const char *value, size_t len)
{
	size_t n = len < size - 1 ? len : size - 1;

	for (size_t i = 0; i < n; i++)
		to[i] = (char)(value[i] >= ' ' && value[i] <= '~' ? value[i] : '?');
	to[n] = '\0';
}

static int add(struct tw_processors *p, struct tw_err *err)
{
	if (p->count == TW_PROCESSORS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d processors",
			       TW_PROCESSORS_MAX);
	if (!tw_grow(&p->at, &p->size, p->count, sizeof(*p->at)))
		return tw_fail(err, TW_NOMEM, "%zu processors", p->count);
	p->at[p->count++] = (struct tw_processor){ .number = "" };
	return 0;
}

static int take_line(struct tw_processors *p, const char *at, const char *end,
		     struct tw_err *err)
{
	const char *colon = memchr(at, ':', (size_t)(end - at));
	const char *value;
	size_t key_len, len;

	if (colon == NULL)
		return 0;
	key_len = trim(&at, colon);
	value = colon + 1;
	len = trim(&value, end);
	for (size_t i = 0; i < TW_COUNT(fields); i++) {
		if (strlen(fields[i].key) != key_len ||
		    memcmp(fields[i].key, at, key_len) != 0)
			continue;
		if (i == 0 && add(p, err) < 0)
			return -1;
		if (p->count > 0)
			take_value((char *)&p->at[p->count - 1] + fields[i].offset,
				   fields[i].size, value, len);
	}
	return 0;
}

int tw_processors_parse(const char *data, size_t len, struct tw_processors *out,
			struct tw_err *err)
{
	const char *at = data, *const end = data + len;
	struct tw_processors p = { 0 };

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline != NULL ? newline : end;

		if (take_line(&p, at, stop, err) < 0) {
			tw_processors_release(&p);
			return -1;
		}
		at = newline != NULL ? newline + 1 : end;
	}
	*out = p;
	return 0;
}

int tw_processors_read(const struct tw_roots *roots, struct tw_processors *out,
		       struct tw_err *err)
{
	char *path = NULL, *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, roots->proc, "cpuinfo", NULL) < 0 ||
	    tw_file_read(path, CPUINFO_MAX, &data, &len, err) < 0)
		goto out;
	if (tw_processors_parse(data, len, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}

	rc = 0;
out:
	free(data);
	free(path);
	return rc;
}

void tw_processors_release(struct tw_processors *p)
{
	free(p->at);
	*p = (struct tw_processors){ 0 };
}
