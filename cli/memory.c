/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/memory.h"

#include "lib/program/opt.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tw_must_have(bool done)
{
	if (done)
		return;
	fputs("tallywatt: out of memory\n", stderr);
	exit(TW_EXIT_FAILED);
}

void *tw_must(void *p)
{
	tw_must_have(p != NULL);
	return p;
}

char *tw_must_printf(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	tw_must_have(vasprintf(&text, fmt, ap) >= 0);
	va_end(ap);
	return text;
}

static void *allocate(size_t size)
{
	return tw_must(malloc(size));
}

void tw_must_json(void)
{
	json_set_alloc_funcs(allocate, free);
}
