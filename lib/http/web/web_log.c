/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web/web_log.h"

#include "lib/core/err.h"
#include "lib/program/log.h"

#include <stddef.h>

void tw_web_log_changed(void *app, const struct tw_err *why)
{
	(void)app;
	if (why == NULL)
		tw_log_info("web configuration taken");
	else
		tw_log_error("cannot take the web configuration, continuing with the "
			     "previous one: %s",
			     why->text);
}
