/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_METER_TREE_H
#define TW_TEST_METER_TREE_H

/* Files as the kernel shows those of meters, in a directory of a test. */

#include <stddef.h>

/* The file dir/path with that text; directories are made. */
void tree_write(const char *dir, const char *path, const char *text);

/* path, a directory, is a RAPL zone. */
void tree_rapl(const char *dir, const char *path, const char *name,
	       unsigned long long energy_uj, unsigned long long range_uj);

void tree_remove(const char *dir, const char *path);

#endif /* TW_TEST_METER_TREE_H */
