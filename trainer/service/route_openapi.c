/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/train_service.h"
#include "lib/http/server/openapi_route.h"

/* trainer/service/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <trainer/service/openapi.inc>
};

TW_OPENAPI_ROUTE(tw_route_trainer_openapi, document);
