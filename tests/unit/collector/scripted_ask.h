/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SCRIPTED_ASK_H
#define TW_TEST_SCRIPTED_ASK_H

/*
 * The part of tw-ask, by the test's own program: it is started again under that name, and
 * its main() gives it a script instead of the tests.
 */

#include "lib/ask/ask.h"

#include <stdbool.h>

/* ---- in the test ---- */

/* The program to start: of tw_ask_config. */
const char *scripted_ask(void);

/* Until there is a message; fails the test if none comes. */
void scripted_ask_wait(int fd);

/* ---- in the helper ---- */

bool scripted_ask_is_it(const char *name);

/* Run the script with the socket and the settings that came; an exit status. */
int scripted_ask_run(void (*script)(int fd, const char *settings));

void scripted_ask_tell(int fd, const struct tw_ask_message *m);

/* Until the other end says something, or is closed; then the helper ends. */
void scripted_ask_hear(int fd);

#endif /* TW_TEST_SCRIPTED_ASK_H */
