/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/meters/meter_tree.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>

void tree_write(const char *dir, const char *path, const char *text)
{
	struct tw_err err = { 0 };
	char whole[1024];

	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	*strrchr(whole, '/') = '\0';
	if (tw_dir_make(whole, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	if (tw_file_replace(whole, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void write_number(const char *dir, const char *path, const char *file,
			 unsigned long long value)
{
	char whole[512], text[32];

	snprintf(whole, sizeof(whole), "%s/%s", path, file);
	snprintf(text, sizeof(text), "%llu\n", value);
	tree_write(dir, whole, text);
}

void tree_rapl(const char *dir, const char *path, const char *name,
	       unsigned long long energy_uj, unsigned long long range_uj)
{
	char whole[512], line[128];

	snprintf(whole, sizeof(whole), "%s/name", path);
	snprintf(line, sizeof(line), "%s\n", name);
	tree_write(dir, whole, line);
	write_number(dir, path, "energy_uj", energy_uj);
	write_number(dir, path, "max_energy_range_uj", range_uj);
}

void tree_remove(const char *dir, const char *path)
{
	struct tw_err err = { 0 };
	char whole[1024];

	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	if (tw_tree_remove(whole, &err) < 0)
		fail_msg("%s", err.text);
}
