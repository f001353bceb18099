/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/meters/scripted_bmc.h"

#include "lib/core/err.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bmc_add(struct bmc *b, const char *path, unsigned status, const char *body)
{
	b->page[b->count++] = (struct page){ path, status, body };
}

static int answer(struct tw_http_answer *out, unsigned status, const char *body,
		  struct tw_err *err)
{
	*out = (struct tw_http_answer){ .status = status };
	out->len = strlen(body);
	out->body = malloc(out->len + 1);
	if (out->body == NULL)
		return tw_fail(err, TW_NOMEM, "answer");
	memcpy(out->body, body, out->len + 1);
	return 0;
}

static int log_in(struct bmc *b, const struct tw_http_call *c, struct tw_http_answer *out,
		  struct tw_err *err)
{
	b->logins++;
	b->expired = false;
	assert_string_equal(c->body, "{\"UserName\":\"me\",\"Password\":\"a\\\"b\"}");
	/* Never without: redirects are for who has no secret. */
	assert_int_equal(c->access->headers->count, 1);
	assert_null(c->access->user);
	if (b->login_status == 307) {
		snprintf(c->wanted[1].value, sizeof(c->wanted[1].value), "%s",
			 b->sessions);
		b->login_status = 201;
		return answer(out, 307, "{}", err);
	}
	if (b->login_status == 201 && b->token != NULL)
		snprintf(c->wanted[0].value, sizeof(c->wanted[0].value), "%s", b->token);
	snprintf(c->wanted[1].value, sizeof(c->wanted[1].value), "%s/7", SESSIONS);
	return answer(out, b->login_status, "{}", err);
}

static bool is_known(const struct bmc *b, const struct tw_http_access *a)
{
	char header[64];

	if (b->wants_basic)
		return a->user != NULL && strcmp(a->user, "me") == 0 &&
		       strcmp(a->password, "a\"b") == 0;
	if (b->token == NULL)
		return true;
	snprintf(header, sizeof(header), "X-Auth-Token: %s", b->token);
	return !b->expired && a->headers->count == 2 &&
	       strcmp(a->headers->at[1], header) == 0;
}

static int send_page(const struct page *p, const struct tw_http_call *c,
		     struct tw_http_answer *out, struct tw_err *err)
{
	if (p->status == 0)
		return tw_fail(err, TW_IO, "%s", p->body);
	if (p->status == 308)
		snprintf(c->wanted[0].value, sizeof(c->wanted[0].value), "%s", p->body);
	return answer(out, p->status, p->body, err);
}

static int call(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		struct tw_err *err)
{
	struct bmc *b = arg;
	const char *path = c->url + strlen(URL);

	b->calls++;
	assert_memory_equal(c->url, URL, strlen(URL));
	if (b->down)
		return tw_fail(err, TW_IO, "no route");
	if (c->method != NULL) {
		assert_string_equal(c->method, "DELETE");
		assert_string_equal(path, SESSIONS "/7");
		b->logouts++;
		return answer(out, 204, "", err);
	}
	if (c->body != NULL)
		return log_in(b, c, out, err);
	if ((strcmp(path, V1) != 0 || b->root_wants_login) && !is_known(b, c->access))
		return answer(out, 401, "{\"error\":{\"message\":\"who?\"}}", err);
	for (size_t i = b->count; i > 0; i--)
		if (strcmp(b->page[i - 1].path, path) == 0)
			return send_page(&b->page[i - 1], c, out, err);
	return answer(out, 404, "{}", err);
}

void bmc_set_up(struct bmc *b, struct tw_redfish *r)
{
	*b = (struct bmc){ .login_status = 201,
			   .token = "t",
			   .access = { .user = "me", .password = "a\"b" } };
	bmc_add(b, V1, 200, "{\"Chassis\":" LINK(CHASSIS) "}");
	bmc_add(b, CHASSIS, 200, "{\"Members\":[" LINK(CHASSIS "/1") "]}");
	bmc_add(b, CHASSIS "/1", 200,
		"{\"Id\":\"1\",\"ChassisType\":\"RackMount\",\"Power\":" LINK(
			CHASSIS "/1/Power") "}");
	bmc_add(b, CHASSIS "/1/Power", 200,
		"{\"PowerControl\":[{\"PowerConsumedWatts\":100}]}");
	*r = (struct tw_redfish){ .config = { .url = URL,
					      .access = &b->access,
					      .call = call,
					      .call_arg = b } };
}

void bmc_assert_fails(struct tw_redfish *r, enum tw_code code, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_redfish_connect(r, &err), -1);
	assert_string_equal(err.text, text);
	assert_int_equal(err.code, code);
}

void bmc_assert_one(struct tw_redfish *r, const char *id, double watts)
{
	struct tw_redfish_power power;
	struct tw_err err = { 0 };

	if (tw_redfish_connect(r, &err) < 0 ||
	    tw_redfish_read(r, &r->source[0], &power, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r->sources, 1);
	assert_string_equal(r->source[0].id, id);
	assert_float_equal(power.power_w, watts, 0);
}
