/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_screen.h"

#include "cli/memory.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* Switch to the alternate screen without a cursor, and back. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

struct tw_screen {
	struct termios before;
	sigset_t mask;
	int signals;
	bool entered;
	char typed[64]; /* read, but not yet consumed */
	size_t typed_len;
};

static int set_terminal(struct tw_screen *s, struct tw_err *err)
{
	struct termios raw = s->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
		return tw_fail_errno(err, errno, "terminal");
	if (tw_fd_write(STDOUT_FILENO, ENTER, strlen(ENTER), "terminal", err) < 0)
		return -1;
	s->entered = true;
	return 0;
}

static void reset_terminal(struct tw_screen *s)
{
	struct tw_err ignored = { 0 };

	if (!s->entered)
		return;
	tw_fd_write(STDOUT_FILENO, LEAVE, strlen(LEAVE), "terminal", &ignored);
	tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
	s->entered = false;
}

/* The program may end anywhere for lack of memory. */
static struct tw_screen *opened;

static void reset_opened(void)
{
	if (opened != NULL)
		reset_terminal(opened);
}

int tw_screen_open(struct tw_screen **out, struct tw_err *err)
{
	struct tw_screen *s = tw_must(calloc(1, sizeof(*s)));
	sigset_t taken;

	sigemptyset(&taken);
	sigaddset(&taken, SIGINT);
	sigaddset(&taken, SIGTERM);
	sigaddset(&taken, SIGHUP);
	sigaddset(&taken, SIGTSTP);
	sigaddset(&taken, SIGWINCH);
	s->signals = -1;
	sigprocmask(SIG_BLOCK, &taken, &s->mask);
	if (tcgetattr(STDIN_FILENO, &s->before) < 0) {
		tw_fail_errno(err, errno,
			      "standard input is not a terminal (see --batch)");
		goto failed;
	}
	s->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0) {
		tw_fail_errno(err, errno, "signals");
		goto failed;
	}
	if (set_terminal(s, err) < 0)
		goto failed;
	*out = opened = s;
	atexit(reset_opened);
	return 0;
failed:
	tw_screen_close(s);
	return -1;
}

void tw_screen_close(struct tw_screen *s)
{
	if (s == NULL)
		return;
	reset_terminal(s);
	opened = NULL;
	if (s->signals >= 0)
		close(s->signals);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	free(s);
}

void tw_screen_size(const struct tw_screen *s, size_t *columns, size_t *lines)
{
	struct winsize w;

	(void)s;
	*columns = 80;
	*lines = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0)
		return;
	*columns = w.ws_col;
	*lines = w.ws_row;
}

/*
 * Draw from the top left and clear the rest. The last line has no newline, because it
 * would scroll.
 */
int tw_screen_draw(struct tw_screen *s, const struct tw_buf *text, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc;

	(void)s;
	tw_buf_adds(&b, "\033[H");
	if (text->len > 0)
		tw_buf_add(&b, text->data, text->len - 1);
	tw_buf_adds(&b, "\033[J");
	tw_must_have(!tw_buf_failed(text) && !tw_buf_failed(&b));
	rc = tw_fd_write(STDOUT_FILENO, b.data, b.len, "terminal", err);
	tw_buf_clear(&b);
	return rc;
}

/* Stop the process until SIGCONT. False: the terminal is gone. */
static bool stop(struct tw_screen *s)
{
	struct tw_err err = { 0 };

	reset_terminal(s);
	raise(SIGSTOP);
	return set_terminal(s, &err) == 0;
}

static enum tw_screen_event take_signal(struct tw_screen *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return TW_SCREEN_TIMEOUT;
	if (info.ssi_signo == SIGTSTP)
		return stop(s) ? TW_SCREEN_RESIZED : TW_SCREEN_END;
	return info.ssi_signo == SIGWINCH ? TW_SCREEN_RESIZED : TW_SCREEN_END;
}

/* Decode the first key, and its number of bytes. */
static int key_of(const char *text, size_t len, size_t *bytes)
{
	static const struct {
		const char *text;
		int key;
	} keys[] = { { "\033[A", TW_KEY_UP },       { "\033OA", TW_KEY_UP },
		     { "\033[B", TW_KEY_DOWN },     { "\033OB", TW_KEY_DOWN },
		     { "\033[5~", TW_KEY_PAGE_UP }, { "\033[6~", TW_KEY_PAGE_DOWN } };

	for (size_t i = 0; i < TW_COUNT(keys); i++) {
		*bytes = strlen(keys[i].text);
		if (*bytes <= len && memcmp(keys[i].text, text, *bytes) == 0)
			return keys[i].key;
	}
	*bytes = 1;
	if (text[0] != '\033')
		return (unsigned char)text[0];
	/* Skip an unknown escape sequence up to the next ESC. */
	while (*bytes < len && text[*bytes] != '\033')
		(*bytes)++;
	return TW_KEY_OTHER;
}

/* Input is available. */
static int take_key(struct tw_screen *s)
{
	size_t bytes;
	const int key = key_of(s->typed, s->typed_len, &bytes);

	s->typed_len -= bytes;
	memmove(s->typed, s->typed + bytes, s->typed_len);
	return key;
}

enum tw_screen_event tw_screen_wait(struct tw_screen *s, uint64_t wait_ms, int *key)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			      { .fd = s->signals, .events = POLLIN } };
	ssize_t n;

	if (s->typed_len == 0) {
		if (poll(p, 2, wait_ms < INT_MAX ? (int)wait_ms : INT_MAX) <= 0)
			return TW_SCREEN_TIMEOUT;
		if (p[1].revents != 0)
			return take_signal(s);
		n = read(STDIN_FILENO, s->typed, sizeof(s->typed));
		if (n <= 0)
			return TW_SCREEN_END;
		s->typed_len = (size_t)n;
	}
	*key = take_key(s);
	return TW_SCREEN_KEY;
}
