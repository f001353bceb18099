/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes.h"
#include "server/service.h"

#include <stdint.h>
#include <unistd.h>

/*
 * The main thread reloads. Requests that arrive before it does are served by one reload.
 */
void tw_post_reload(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	static const char body[] = "{\"status\":\"reloading\"}";
	const struct tw_service *s = app;
	const uint64_t one = 1;

	(void)q;
	if (s->reload_fd < 0 ||
	    write(s->reload_fd, &one, sizeof(one)) != (ssize_t)sizeof(one)) {
		tw_http_reply_problem(r, 503, "cannot reload now");
		return;
	}
	tw_http_reply_lend(r, body, sizeof(body) - 1, NULL, NULL);
	r->status = 202;
}
