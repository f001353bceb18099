/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt.h"

#include <jansson.h>
#include <stdio.h>

void tw_version_print(const char *program)
{
	printf("%s %s\n", program, TW_VERSION);
	printf("jansson: %s\n", JANSSON_VERSION);
	printf("xgboost: %s\n", TW_XGBOOST ? "yes" : "no");
	printf("libsvm: %s\n", TW_LIBSVM ? "yes" : "no");
	printf("libsodium: %s\n", TW_SODIUM ? "yes" : "no");
	printf("freeipmi: %s\n", TW_FREEIPMI ? "yes" : "no");
	printf("bpf: %s\n", TW_BPF ? "yes" : "no");
}
