/* SPDX-License-Identifier: Apache-2.0 */
/* Attach a program that does nothing to sched_switch, until stdin ends. */
#include "tests/bench/empty_switch.skel.h"

#include <stdio.h>
#include <unistd.h>

int main(void)
{
	struct empty_switch_bpf *s = empty_switch_bpf__open_and_load();
	char byte;

	if (s == NULL || empty_switch_bpf__attach(s) != 0) {
		fprintf(stderr, "empty_switch: cannot attach\n");
		return 1;
	}
	printf("attached\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	empty_switch_bpf__destroy(s);
	return 0;
}
