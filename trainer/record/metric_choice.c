/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/metric_choice.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/response/schema.h"

#include <string.h>

#define NAME_MAX_BYTES 1024
#define PATTERN_MAX_BYTES 1024

int tw_metric_choice_open(struct tw_metric_choice *c, const char *pattern,
			  const struct tw_strs *more, struct tw_err *err)
{
	struct tw_metric_choice opened = { .more = more };
	char reason[128];
	int e;

	if (pattern != NULL) {
		if (strlen(pattern) > PATTERN_MAX_BYTES)
			return tw_fail(err, TW_INVALID, "pattern of %zu bytes",
				       strlen(pattern));
		e = regcomp(&opened.pattern, pattern, REG_EXTENDED);
		if (e != 0) {
			regerror(e, &opened.pattern, reason, sizeof(reason));
			return tw_fail(err, e == REG_ESPACE ? TW_NOMEM : TW_INVALID,
				       "pattern '%.64s': %s", pattern, reason);
		}
		opened.by_pattern = true;
	}
	*c = opened;
	return 0;
}

void tw_metric_choice_release(struct tw_metric_choice *c)
{
	if (c->by_pattern)
		regfree(&c->pattern);
	*c = (struct tw_metric_choice){ 0 };
}

/* Whether the whole name matches. POSIX finds the leftmost longest match, so comparing
 * its bounds with the name's is enough. */
static bool matches(const regex_t *pattern, const char *name, size_t len)
{
	char text[NAME_MAX_BYTES + 1];
	regmatch_t m;

	if (len > NAME_MAX_BYTES || memchr(name, '\0', len) != NULL)
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	return regexec(pattern, text, 1, &m, 0) == 0 && m.rm_so == 0 &&
	       (size_t)m.rm_eo == len;
}

bool tw_metric_choice_has(const struct tw_metric_choice *c, const char *name, size_t len)
{
	for (size_t i = 0; c->more != NULL && i < c->more->count; i++)
		if (strlen(c->more->at[i]) == len &&
		    memcmp(c->more->at[i], name, len) == 0)
			return true;
	return c->by_pattern ? matches(&c->pattern, name, len)
			     : tw_schema_has_metric(name, len);
}
