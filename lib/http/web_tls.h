/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_TLS_H
#define TW_WEB_TLS_H

/*
 * What a web configuration says of TLS, in GnuTLS' words.
 */

struct tw_buf;
struct tw_err;
struct tw_web_config;

/*
 * Append a priority string: the versions from min to max, nothing that is known to be
 * weak, and of the rest what cipher_suites and curve_preferences name, in their order.
 *
 * GnuTLS is told key exchanges and ciphers apart. So a list must have every pair of those
 * that are in it, or it is TW_UNSUPPORTED with the suite that is missing. Of TLS 1.3 the
 * suites with ciphers of the list are allowed.
 */
int tw_web_tls_priorities(const struct tw_web_config *c, struct tw_buf *out,
			  struct tw_err *err);

#endif /* TW_WEB_TLS_H */
