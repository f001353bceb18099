/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_USERS_H
#define TW_WEB_USERS_H

/*
 * Users with passwords (bcrypt), as HTTP's basic authentication has them (RFC 7617). A
 * check takes a tenth of a second of a processor, on purpose: what was checked is
 * remembered, and only one is checked at a time. Thread-safe. For lib/http/web.c.
 */

#include "lib/http/web.h"

struct tw_err;
struct tw_strs;
struct tw_web_users;

/* Pairs of name and hash; without any, everybody may. *out is yours: tw_web_users_free().
 */
int tw_web_users_new(const struct tw_strs *pairs, struct tw_web_users **out,
		     struct tw_err *err);
struct tw_web_users *tw_web_users_ref(struct tw_web_users *u);
void tw_web_users_free(
	struct tw_web_users *u); /* NULL is fine; of references, the last */

enum tw_web_access tw_web_users_check(struct tw_web_users *u, const char *authorization);

#endif /* TW_WEB_USERS_H */
