/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_credentials.h"

#include <stdio.h>

int tw_cmd_credentials_open(struct tw_credentials *w,
			    const struct tw_credentials_config *c,
			    const char *headers_env, const char *program,
			    struct tw_err *err)
{
	if (tw_credentials_open(w, c, headers_env, err) < 0)
		return -1;
	if (c->insecure)
		fprintf(stderr,
			"%s: WARNING: certificates are not verified (--insecure)\n",
			program);
	return 0;
}
