/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/workload_name.h"

#include "lib/core/array.h"

#include <string.h>

/*
 * Ids by their number of texts, as the schemas' id labels (trainer/response/schema.c)
 * make them: kepler-legacy, kepler, tallywatt.
 */
static const struct {
	size_t parts;
	int name;
} ids[] = { { 4, 2 }, { 5, 1 }, { 7, 1 } };

int tw_workload_name_part(size_t parts)
{
	for (size_t i = 0; i < TW_COUNT(ids); i++)
		if (ids[i].parts == parts)
			return ids[i].name;
	return -1;
}

const char *tw_workload_name(const char *id, size_t *len)
{
	size_t parts = 1;
	int place;

	for (const char *at = id; (at = strchr(at, '/')) != NULL; at++)
		parts++;
	place = tw_workload_name_part(parts);
	*len = strlen(id);
	if (place < 0)
		return id;
	while (place-- > 0)
		id = strchr(id, '/') + 1;
	*len = strcspn(id, "/");
	return id;
}

bool tw_workload_matches(const char *id, const char *text)
{
	const size_t wanted = strlen(text);
	size_t len;
	const char *name = tw_workload_name(id, &len);

	if (len == 0) {
		name = id;
		len = strlen(id);
	}
	for (; len >= wanted; name++, len--)
		if (memcmp(name, text, wanted) == 0)
			return true;
	return false;
}
