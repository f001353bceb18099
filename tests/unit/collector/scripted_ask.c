/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/scripted_ask.h"

#include "lib/ask/helper.h"
#include "tests/unit/tw_test.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 60000

const char *scripted_ask(void)
{
	return "/proc/self/exe";
}

void scripted_ask_wait(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

bool scripted_ask_is_it(const char *name)
{
	return strcmp(name, "tw-ask") == 0;
}

int scripted_ask_run(void (*script)(int fd, const char *settings))
{
	char *text = calloc(1, TW_ASK_SETTINGS_MAX + 1);

	if (text == NULL || recv(STDIN_FILENO, text, TW_ASK_SETTINGS_MAX, 0) <= 0)
		return 1;
	script(STDIN_FILENO, text);
	free(text);
	return 0;
}

void scripted_ask_tell(int fd, const struct tw_ask_message *m)
{
	if (send(fd, m, sizeof(*m), MSG_NOSIGNAL) < 0)
		_exit(0);
}

void scripted_ask_hear(int fd)
{
	char byte;

	if (recv(fd, &byte, 1, 0) <= 0)
		_exit(0);
}
