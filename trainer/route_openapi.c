/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_service.h"
#include "lib/http/openapi_route.h"

/* trainer/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <trainer/openapi.inc>
};

TW_OPENAPI_ROUTE(tw_route_trainer_openapi, document);
