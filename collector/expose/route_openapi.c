/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/routes.h"
#include "lib/http/server/openapi_route.h"

/* collector/expose/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <collector/expose/openapi.inc>
};

TW_OPENAPI_ROUTE(tw_route_collector_openapi, document);
