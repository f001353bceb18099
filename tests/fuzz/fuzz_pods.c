/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/pods_parse.h"
#include "tests/fuzz/names_parser.h"

static int check_names(void *arg, const struct tw_ask_names *n, struct tw_err *err)
{
	size_t *told = arg;

	(void)err;
	if (n->id[0] == '\0' || n->pod[0] == '\0' || n->name_space[0] == '\0' ||
	    strnlen(n->id, sizeof(n->id)) == sizeof(n->id) ||
	    strnlen(n->container, sizeof(n->container)) == sizeof(n->container))
		abort();
	*told += 1 + strlen(n->id) + strlen(n->pod) + strlen(n->container);
	return 0;
}

FUZZ_NAMES_PARSER(tw_pods_parser)
