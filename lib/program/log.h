/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_LOG_H
#define TW_LOG_H

/*
 * Log lines on stderr. Only main.c, session and route files log; libraries return
 * errors. Levels: error (lost or refused something), warn (degraded, going on),
 * info (start, stop, model loaded), debug.
 *
 * logfmt: time=... level=info msg="..."    (no time and a <N> prefix under the journal)
 * json:   {"time":"...","level":"info","program":"tw-server","msg":"..."}
 *
 * A line is one write(2). Control characters and invalid UTF-8 are escaped, so that
 * foreign text cannot forge a line. Thread-safe after tw_log_init().
 */

#include <stdint.h>

enum tw_log_level { TW_LOG_ERROR, TW_LOG_WARN, TW_LOG_INFO, TW_LOG_DEBUG };
enum tw_log_format { TW_LOG_LOGFMT, TW_LOG_JSON };

/* For struct tw_opt's choices, in the order of the enums. */
extern const char *const tw_log_level_names[];  /* ended by NULL */
extern const char *const tw_log_format_names[]; /* ended by NULL */

/* program is kept by reference. Before this, lines go out as logfmt at info. */
void tw_log_init(const char *program, enum tw_log_level level, enum tw_log_format format);

void tw_log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tw_log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tw_log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tw_log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Rate limit for lines that foreign input can cause: at most one a second for each
 * limiter; the next line says how many were left out. All zero bytes is ready.
 */
struct tw_log_limit {
	uint64_t last_ms;
	uint64_t dropped;
};

/* As tw_log_warn(), through the limiter. Not thread-safe for one limiter. */
void tw_log_warn_limited(struct tw_log_limit *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TW_LOG_H */
