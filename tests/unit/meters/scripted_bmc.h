/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SCRIPTED_BMC_H
#define TW_TEST_SCRIPTED_BMC_H

/* A management controller by pages of a test, behind tw_redfish_config.call. */

#include "collector/ask/redfish_client.h"

#include <stdbool.h>
#include <stddef.h>

#define URL "https://bmc"
#define V1 "/redfish/v1/"
#define SESSIONS V1 "SessionService/Sessions"

#define LINK(path) "{\"@odata.id\":\"" path "\"}"
#define CHASSIS V1 "Chassis"

struct page {
	const char *path;
	unsigned status;  /* 0: no answer, for the reason of the body */
	const char *body; /* of a redirect: where to */
};

/* Pages are found from the end on, so that a test adds what is different. */
struct bmc {
	struct page page[48];
	size_t count;
	unsigned login_status;
	const char *token; /* that it gives, and takes; NULL: none is needed */
	bool expired;      /* what it gave last */
	unsigned logins, logouts, calls;
	bool wants_basic, root_wants_login;
	const char *sessions; /* where a redirect of the login leads */
	bool down;
	struct tw_http_access access;
};

/* Not copied; a later one of a path counts. */
void bmc_add(struct bmc *b, const char *path, unsigned status, const char *body);

/* A rack server with one chassis of 100 W, and who asks it. */
void bmc_set_up(struct bmc *b, struct tw_redfish *r);

#endif /* TW_TEST_SCRIPTED_BMC_H */
