/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/accept.h"

#include "lib/core/num.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct span {
	const char *at;
	size_t len;
};

static bool equals(struct span s, const char *text)
{
	return s.len == strlen(text) && strncasecmp(s.at, text, s.len) == 0;
}

static struct span trim(struct span s)
{
	while (s.len > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
		s.at++;
		s.len--;
	}
	while (s.len > 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* Cut the text before the separator off *rest, without blanks around it. */
static struct span next_field(struct span *rest, char separator)
{
	const char *end = memchr(rest->at, separator, rest->len);
	struct span field = { rest->at,
			      end != NULL ? (size_t)(end - rest->at) : rest->len };
	const size_t used = field.len + (end != NULL);

	rest->at += used;
	rest->len -= used;
	return trim(field);
}

/* An element of the list: "text/plain;version=0.0.4;q=0.5". */
struct element {
	struct span value;
	struct span version; /* len 0: none */
	double weight;
};

static struct element read_element(struct span s)
{
	struct element e = { .value = next_field(&s, ';'), .weight = 1 };

	while (s.len > 0) {
		struct span value = next_field(&s, ';');
		struct span name = next_field(&value, '=');
		double d;

		if (value.len >= 2 && value.at[0] == '"')
			value = (struct span){ value.at + 1, value.len - 2 };
		if (equals(name, "version"))
			e.version = value;
		else if (equals(name, "q"))
			e.weight = tw_parse_double(value.at, value.len, &d) && d >= 0 &&
						   d <= 1
					   ? d
					   : 0;
	}
	return e;
}

/* 0: no match; a more specific media range gives a larger number. */
static int match_range(struct span range, const char *type, const char *subtype)
{
	const struct span first = next_field(&range, '/');

	if (equals(first, type))
		return equals(range, subtype) ? 3 : equals(range, "*") ? 2 : 0;
	return equals(first, "*") && equals(range, "*") ? 1 : 0;
}

double tw_accept_weight(const char *accept, const char *type, const char *subtype,
			const char *version)
{
	struct span rest = { accept, accept != NULL ? strlen(accept) : 0 };
	double weight = accept == NULL ? 1 : 0;
	int best = 0;

	while (rest.len > 0) {
		const struct element e = read_element(next_field(&rest, ','));
		const int match = match_range(e.value, type, subtype);

		if (version != NULL && e.version.len > 0 && !equals(e.version, version))
			continue;
		/* The largest weight of equal ranges counts. */
		if (match == 0 || match < best || (match == best && e.weight < weight))
			continue;
		best = match;
		weight = e.weight;
	}
	return weight;
}

double tw_accept_coding(const char *accept, const char *coding)
{
	struct span rest = { accept, accept != NULL ? strlen(accept) : 0 };
	double any = 0;

	while (rest.len > 0) {
		const struct element e = read_element(next_field(&rest, ','));

		if (equals(e.value, coding))
			return e.weight;
		if (equals(e.value, "*"))
			any = e.weight;
	}
	return any;
}
