/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_LOG_H
#define TW_LOG_H

/*
 * Log lines on stderr. Only main files, sessions and routes log; libraries return errors.
 * Levels: error (data was lost or a request refused), warn (degraded), info (start, stop,
 * model loaded), debug.
 *
 * logfmt: time=... level=info program=tw-server msg="..."   (journal: <6> for the time)
 * json:   {"time":"...","level":"info","program":"tw-server","msg":"..."}
 *
 * A line is one write(2). Control characters and invalid UTF-8 are escaped, so that
 * untrusted text cannot forge a line. Thread-safe after tw_log_init().
 */

#include <stdint.h>

enum tw_log_level { TW_LOG_ERROR, TW_LOG_WARN, TW_LOG_INFO, TW_LOG_DEBUG };
enum tw_log_format { TW_LOG_LOGFMT, TW_LOG_JSON };

/* Choices for struct tw_opt, in the order of the enums. */
extern const char *const tw_log_level_names[];  /* ends with NULL */
extern const char *const tw_log_format_names[]; /* ends with NULL */

/* program must outlive the process. Defaults before this call: logfmt, level info. */
void tw_log_init(const char *program, enum tw_log_level level, enum tw_log_format format);

void tw_log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tw_log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tw_log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tw_log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Rate limit for lines that untrusted input can cause: one line a second and limiter. A
 * count of the suppressed lines precedes the next line. All zero bytes is ready.
 */
struct tw_log_limit {
	uint64_t last_ms;
	uint64_t dropped;
};

/* As tw_log_warn(), rate-limited. Calls with one limiter must not run in parallel. */
void tw_log_warn_limited(struct tw_log_limit *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TW_LOG_H */
