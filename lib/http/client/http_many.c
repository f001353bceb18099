/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/http_many.h"

#include "lib/core/err.h"
#include "lib/http/client/http_transfer.h"

#include <curl/curl.h>
#include <stdlib.h>

struct one {
	struct one *next, **at;
	struct tw_transfer transfer;
	tw_http_done *done;
	void *arg;
};

struct tw_http_many {
	CURLM *multi;
	struct one *running;
};

int tw_http_many_open(struct tw_http_many **out, struct tw_err *err)
{
	struct tw_http_many *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return tw_fail(err, TW_NOMEM, "HTTP client");
	m->multi = curl_multi_init();
	if (m->multi == NULL) {
		free(m);
		return tw_fail(err, TW_NOMEM, "HTTP client");
	}
	*out = m;
	return 0;
}

static void end_one(struct tw_http_many *m, struct one *o)
{
	CURL *h = o->transfer.handle;

	*o->at = o->next;
	if (o->next != NULL)
		o->next->at = o->at;
	curl_multi_remove_handle(m->multi, h);
	tw_transfer_release(&o->transfer);
	curl_easy_cleanup(h);
	free(o);
}

void tw_http_many_close(struct tw_http_many *m)
{
	if (m == NULL)
		return;
	while (m->running != NULL)
		end_one(m, m->running);
	curl_multi_cleanup(m->multi);
	free(m);
}

int tw_http_many_start(struct tw_http_many *m, const struct tw_http_call *c,
		       tw_http_done *done, void *arg, struct tw_err *err)
{
	struct one *o = calloc(1, sizeof(*o));
	CURL *h = curl_easy_init();

	if (o == NULL || h == NULL) {
		tw_fail(err, TW_NOMEM, "HTTP call");
		goto failed;
	}
	o->done = done;
	o->arg = arg;
	if (tw_transfer_begin(&o->transfer, h, c, err) < 0)
		goto failed;
	if (curl_easy_setopt(h, CURLOPT_PRIVATE, o) != CURLE_OK ||
	    curl_multi_add_handle(m->multi, h) != CURLM_OK) {
		tw_fail(err, TW_NOMEM, "HTTP call");
		goto failed;
	}
	o->next = m->running;
	o->at = &m->running;
	if (o->next != NULL)
		o->next->at = &o->next;
	m->running = o;
	return 0;
failed:
	if (o != NULL)
		tw_transfer_release(&o->transfer);
	if (h != NULL)
		curl_easy_cleanup(h);
	free(o);
	return -1;
}

static void finish(struct tw_http_many *m, CURL *h, CURLcode e)
{
	struct tw_http_answer answer = { 0 };
	struct tw_err why = { 0 };
	char *place = NULL;
	struct one *o;

	if (curl_easy_getinfo(h, CURLINFO_PRIVATE, &place) != CURLE_OK)
		return;
	o = (struct one *)(void *)place;
	if (tw_transfer_end(&o->transfer, e, &answer, &why) < 0) {
		o->done(o->arg, NULL, &why);
	} else {
		o->done(o->arg, &answer, &why);
		tw_http_answer_release(&answer);
	}
	end_one(m, o);
}

int tw_http_many_run(struct tw_http_many *m, int fd, unsigned ms, struct tw_err *err)
{
	struct curl_waitfd more = { .fd = fd, .events = CURL_WAIT_POLLIN };
	CURLMsg *message;
	CURLMcode e;
	int running, left;

	e = curl_multi_poll(m->multi, &more, fd >= 0 ? 1 : 0, (int)ms, NULL);
	if (e == CURLM_OK)
		e = curl_multi_perform(m->multi, &running);
	if (e != CURLM_OK)
		return tw_fail(err, TW_IO, "libcurl: %s", curl_multi_strerror(e));
	while ((message = curl_multi_info_read(m->multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE)
			finish(m, message->easy_handle, message->data.result);
	return 0;
}
