/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_VERSIONS_H
#define TW_TEST_VERSIONS_H

/*
 * Versions 1 to 3 of a pipeline "p". Names and contents differ between them, so that no
 * mixture looks whole.
 */

struct tw_err;
struct tw_fileset;

void version_make(int version, struct tw_fileset *out);

int version_publish(const char *db, const char *name, int version, struct tw_err *err);

/* As "p", or the test fails. */
void version_must_publish(const char *db, int version);

/*
 * The version that is wholly there, as its manifest says; 0: none at all. Anything else
 * fails the test.
 */
int version_seen_as(const char *db, const char *name);
int version_seen(const char *db); /* as "p" */

/* What is in the database beside "p", the one before and the lock. */
int version_count_others(const char *db);

#endif /* TW_TEST_VERSIONS_H */
