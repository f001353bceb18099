/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/containers_parse.h"
#include "tests/fuzz/names_parser.h"

static int check_names(void *arg, const struct tw_ask_names *n, struct tw_err *err)
{
	size_t *told = arg;

	(void)err;
	if (strspn(n->id, "0123456789abcdef") != 64 || n->id[64] != '\0' ||
	    n->container[0] == '\0' || n->pod[0] != '\0' ||
	    strnlen(n->container, sizeof(n->container)) == sizeof(n->container) ||
	    strpbrk(n->container, "/\"\\\n ") != NULL)
		abort();
	*told += 1 + strlen(n->container);
	return 0;
}

FUZZ_NAMES_PARSER(tw_containers_parser)
