/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http.h"

#include <stdlib.h>

/* Apart from the client, so that who only takes answers is not linked with libcurl. */
void tw_http_answer_release(struct tw_http_answer *a)
{
	free(a->body);
	*a = (struct tw_http_answer){ 0 };
}
