/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes.h"
#include "lib/http/server/openapi_route.h"

/* server/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <server/openapi.inc>
};

TW_OPENAPI_ROUTE(tw_route_openapi, document);
