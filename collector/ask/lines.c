/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/lines.h"

#include <string.h>

static void give(struct tw_lines *l, tw_line_sink *sink, void *arg)
{
	const size_t len = l->len;
	const bool cut = l->too_long;

	l->len = 0;
	l->too_long = false;
	sink(arg, l->text, len, cut);
}

void tw_lines_feed(struct tw_lines *l, const char *data, size_t len, tw_line_sink *sink,
		   void *arg)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		const size_t part = end != NULL ? (size_t)(end - data) : len;
		const size_t room = sizeof(l->text) - l->len;
		const size_t taken = part < room ? part : room;

		memcpy(l->text + l->len, data, taken);
		l->len += taken;
		l->too_long = l->too_long || part > room;
		if (end == NULL)
			return;
		give(l, sink, arg);
		data += part + 1;
		len -= part + 1;
	}
}

void tw_lines_end(struct tw_lines *l, tw_line_sink *sink, void *arg)
{
	if (l->len > 0 || l->too_long)
		give(l, sink, arg);
	else
		*l = (struct tw_lines){ 0 };
}
