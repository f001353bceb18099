/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_CMD_CREDENTIALS_H
#define TW_CLI_CMD_CREDENTIALS_H

/*
 * Credentials of the commands that call HTTP servers.
 */

#include "lib/http/client/credentials.h"

/* As tw_credentials_open(); disabled checks are reported on stderr as of program. */
int tw_cmd_credentials_open(struct tw_credentials *w,
			    const struct tw_credentials_config *c,
			    const char *headers_env, const char *program,
			    struct tw_err *err);

#endif /* TW_CLI_CMD_CREDENTIALS_H */
