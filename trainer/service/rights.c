/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/rights.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

int tw_rights_check_rules(const struct tw_strs *rules, struct tw_err *err)
{
	for (size_t i = 0; i < rules->count; i++) {
		const char *patterns = strchr(rules->at[i], '=');

		if (patterns == NULL || patterns == rules->at[i] || patterns[1] == '\0')
			return tw_fail(err, TW_INVALID,
				       "--may-train '%.60s': want USER=PATTERN,..",
				       rules->at[i]);
		/* No name has a '=': it is the next user, who would get nothing. */
		if (strchr(patterns + 1, '=') != NULL)
			return tw_fail(err, TW_INVALID,
				       "--may-train '%.60s': one user a rule: give the "
				       "option again for the next",
				       rules->at[i]);
	}
	return 0;
}

/* Whether a pattern of the comma-separated list matches. */
static int match_list(const char *list, const char *name, bool *matches,
		      struct tw_err *err)
{
	struct tw_strs patterns = { 0 };
	const int rc = tw_strs_split(&patterns, list, err);

	for (size_t i = 0; rc == 0 && i < patterns.count; i++)
		*matches = *matches || fnmatch(patterns.at[i], name, 0) == 0;
	tw_strs_clear(&patterns);
	return rc;
}

/* Whether a rule lets the user train into the pipeline. */
static int match_rules(const struct tw_strs *rules, const char *user,
		       const char *pipeline, bool *matches, struct tw_err *err)
{
	const size_t len = strlen(user);

	*matches = false;
	for (size_t i = 0; i < rules->count; i++)
		if (strncmp(rules->at[i], user, len) == 0 && rules->at[i][len] == '=' &&
		    match_list(rules->at[i] + len + 1, pipeline, matches, err) < 0)
			return -1;
	return 0;
}

int tw_rights_check_name(const struct tw_strs *rules, const char *user,
			 const char *pipeline, struct tw_err *err)
{
	bool matches;

	if (rules->count == 0)
		return 0;
	if (user == NULL)
		return tw_fail(err, TW_DENIED,
			       "--may-train names users, but the trainer has none");
	if (match_rules(rules, user, pipeline, &matches, err) < 0)
		return -1;
	if (!matches)
		return tw_fail(err, TW_DENIED,
			       "user '%.60s' may not train into pipeline '%.60s' "
			       "(--may-train)",
			       user, pipeline);
	return 0;
}

int tw_rights_check_owner(const struct tw_strs *rules, const char *user,
			  const char *pipeline, const char *owner, struct tw_err *err)
{
	if (rules->count > 0)
		return tw_rights_check_name(rules, user, pipeline, err);
	if (user == NULL ? owner == NULL : owner != NULL && strcmp(user, owner) == 0)
		return 0;
	return tw_fail(err, TW_DENIED,
		       "pipeline '%.60s' was published by %.60s: take another name, or "
		       "give the right by --may-train",
		       pipeline, owner != NULL ? owner : "somebody else");
}
