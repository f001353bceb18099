/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_LOG_H
#define TW_WEB_LOG_H

struct tw_err;

/*
 * Log that the web configuration has changed: web_changed of struct tw_httpd_config. app
 * is unused.
 */
void tw_web_log_changed(void *app, const struct tw_err *why);

#endif /* TW_WEB_LOG_H */
