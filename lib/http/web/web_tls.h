/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_TLS_H
#define TW_WEB_TLS_H

/*
 * The TLS settings of a web configuration as a priority string of GnuTLS.
 */

struct tw_buf;
struct tw_err;
struct tw_web_config;

/*
 * Append a priority string: the versions from min to max, and the secure suites and
 * curves. cipher_suites and curve_preferences narrow these down, and give their order.
 *
 * GnuTLS selects key exchanges and ciphers independently. A list that lacks one of the
 * combinations is TW_UNSUPPORTED, and the error names the missing suite. Of TLS 1.3, the
 * suites with the list's ciphers are enabled.
 */
int tw_web_tls_priorities(const struct tw_web_config *c, struct tw_buf *out,
			  struct tw_err *err);

#endif /* TW_WEB_TLS_H */
