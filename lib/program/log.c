/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/log.h"

#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/date.h"
#include "lib/json/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *const tw_log_level_names[] = { "error", "warn", "info", "debug", NULL };
const char *const tw_log_format_names[] = { "logfmt", "json", NULL };

/* syslog priorities; the journal reads them from a "<N>" prefix. */
static const int priorities[] = { 3, 4, 6, 7 };

/* Global state, set once by main(). */
static const char *log_program = "tallywatt";
static enum tw_log_level log_level = TW_LOG_INFO;
static enum tw_log_format log_format = TW_LOG_LOGFMT;
static bool log_journal;

/* systemd.exec(5): JOURNAL_STREAM is "device:inode" of the journal's stream. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char here[64];
	struct stat st;

	if (stream == NULL || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(here, sizeof(here), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	return strcmp(stream, here) == 0;
}

void tw_log_init(const char *program, enum tw_log_level level, enum tw_log_format format)
{
	log_program = program;
	log_level = level;
	log_format = format;
	log_journal = is_journal();
}

static void add_time(struct tw_buf *b)
{
	struct timespec now;
	char text[TW_DATE_TEXT];

	clock_gettime(CLOCK_REALTIME, &now);
	tw_format_date_ms((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, text);
	tw_buf_adds(b, text);
}

static void add_line(struct tw_buf *b, enum tw_log_level level, const char *msg)
{
	const char *name = tw_log_level_names[level];

	if (log_journal)
		tw_buf_addf(b, "<%d>", priorities[level]);
	if (log_format == TW_LOG_JSON) {
		tw_buf_adds(b, "{\"time\":\"");
		add_time(b);
		tw_buf_addf(b, "\",\"level\":\"%s\",\"program\":\"%s\",\"msg\":", name,
			    log_program);
		tw_buf_add_json_text(b, msg, strlen(msg));
		tw_buf_adds(b, "}\n");
		return;
	}
	if (!log_journal) {
		tw_buf_adds(b, "time=");
		add_time(b);
		tw_buf_adds(b, " ");
	}
	/* A JSON string is a valid quoted logfmt value. */
	tw_buf_addf(b, "level=%s program=%s msg=", name, log_program);
	tw_buf_add_json_text(b, msg, strlen(msg));
	tw_buf_adds(b, "\n");
}

static void log_line(enum tw_log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

static void log_line(enum tw_log_level level, const char *fmt, va_list ap)
{
	int saved = errno;
	struct tw_buf b = { 0 };
	char msg[1024];

	if (level > log_level)
		return;
	vsnprintf(msg, sizeof(msg), fmt, ap);
	add_line(&b, level, msg);
	if (!tw_buf_failed(&b))
		(void)!write(STDERR_FILENO, b.data, b.len);
	tw_buf_clear(&b);
	errno = saved;
}

#define LOG_FUNCTION(name, level)         \
	void name(const char *fmt, ...)   \
	{                                 \
		va_list ap;               \
                                          \
		va_start(ap, fmt);        \
		log_line(level, fmt, ap); \
		va_end(ap);               \
	}

LOG_FUNCTION(tw_log_error, TW_LOG_ERROR)
LOG_FUNCTION(tw_log_warn, TW_LOG_WARN)
LOG_FUNCTION(tw_log_info, TW_LOG_INFO)
LOG_FUNCTION(tw_log_debug, TW_LOG_DEBUG)

void tw_log_warn_limited(struct tw_log_limit *l, const char *fmt, ...)
{
	uint64_t now = tw_now_ms();
	va_list ap;

	if (l->last_ms != 0 && now - l->last_ms < 1000) {
		l->dropped++;
		return;
	}
	if (l->dropped > 0)
		tw_log_warn("%llu similar lines were suppressed",
			    (unsigned long long)l->dropped);
	l->last_ms = now;
	l->dropped = 0;
	va_start(ap, fmt);
	log_line(TW_LOG_WARN, fmt, ap);
	va_end(ap);
}
