/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SCRIPTED_BMC_H
#define TW_TEST_SCRIPTED_BMC_H

/* A management controller by pages of a test, behind tw_redfish_config.call. */

#include "collector/ask/redfish_client.h"
#include "lib/core/err.h"

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

/* A chassis' power, its metrics, and the begin of a chassis. */
#define WATTS(w) "{\"PowerControl\":[{\"PowerConsumedWatts\":" w "}]}"
#define READS(w) "{\"PowerWatts\":{\"Reading\":" w "}}"
#define OF(id, type) "{\"Id\":\"" id "\",\"ChassisType\":\"" type "\""

/* The begin of an error. */
#define NONE "no chassis reports power, --meter-command may read it"

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

/* A search fails for this reason. */
void bmc_assert_fails(struct tw_redfish *r, enum tw_code code, const char *text);

/* A search finds exactly one source, of that id and power. */
void bmc_assert_one(struct tw_redfish *r, const char *id, double watts);

#endif /* TW_TEST_SCRIPTED_BMC_H */
