/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/containers_parse.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

/* How much was told, of pieces of so many bytes; SIZE_MAX: refused. */
static size_t parse(const char *data, size_t size, size_t piece)
{
	struct tw_containers_parser *p = NULL;
	struct tw_err err = { 0 };
	size_t told = 0;
	int rc = 0;

	if (tw_containers_parser_new(check_names, &told, &p, &err) < 0)
		abort();
	for (size_t at = 0; rc == 0 && at < size; at += piece)
		rc = tw_containers_parser_feed(
			p, data + at, size - at < piece ? size - at : piece, &err);
	if (rc == 0)
		rc = tw_containers_parser_end(p, &err);
	tw_containers_parser_free(p);
	if (rc < 0 && err.code == TW_OK)
		abort();
	return rc < 0 ? SIZE_MAX : told;
}

/* Property: names have their form, and pieces make no difference. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t whole = parse((const char *)data, size, size + 1);

	if (parse((const char *)data, size, 3) != whole)
		abort();
	return 0;
}
