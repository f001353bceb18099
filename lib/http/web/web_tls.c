/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/web/web_tls.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/web/web_config.h"

#include <assert.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <string.h>

/* Names as in Go's crypto/tls, as Prometheus' exporters use them; without those that it
 * lists as insecure. */
static const struct suite {
	const char *name;
	const char *exchange; /* NULL: TLS 1.3, whose suites have no key exchange */
	const char *cipher;
	const char *mac;
} suites[] = {
	{ "TLS_AES_128_GCM_SHA256", NULL, "AES-128-GCM", "AEAD" },
	{ "TLS_AES_256_GCM_SHA384", NULL, "AES-256-GCM", "AEAD" },
	{ "TLS_CHACHA20_POLY1305_SHA256", NULL, "CHACHA20-POLY1305", "AEAD" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA", "AES-128-CBC", "SHA1" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA", "AES-128-GCM",
	  "AEAD" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA", "AES-256-CBC", "SHA1" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA", "AES-256-GCM",
	  "AEAD" },
	{ "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA",
	  "CHACHA20-POLY1305", "AEAD" },
	{ "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA", "AES-128-CBC", "SHA1" },
	{ "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA", "AES-128-GCM", "AEAD" },
	{ "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA", "AES-256-CBC", "SHA1" },
	{ "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA", "AES-256-GCM", "AEAD" },
	{ "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA", "CHACHA20-POLY1305",
	  "AEAD" },
};

static const struct {
	const char *name, *group;
} curves[] = {
	{ "CurveP256", "SECP256R1" },
	{ "CurveP384", "SECP384R1" },
	{ "CurveP521", "SECP521R1" },
	{ "X25519", "X25519" },
};

static const char *const versions[] = { "1.0", "1.1", "1.2", "1.3" };

static const struct suite *find_suite(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(suites); i++)
		if (strcmp(suites[i].name, name) == 0)
			return &suites[i];
	return NULL;
}

static int check_names(const struct tw_strs *list, struct tw_err *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (find_suite(list->at[i]) == NULL)
			return tw_fail(
				err, TW_UNSUPPORTED,
				"cipher_suites: '%.64s' is not known or is insecure",
				list->at[i]);
	return 0;
}

static bool has_exchange(const struct tw_strs *list, const char *exchange)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *e = find_suite(list->at[i])->exchange;

		if (e != NULL && strcmp(e, exchange) == 0)
			return true;
	}
	return false;
}

static bool has_cipher(const struct tw_strs *list, const char *cipher)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(find_suite(list->at[i])->cipher, cipher) == 0)
			return true;
	return false;
}

static int check_pairs(const struct tw_strs *list, struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(suites); i++) {
		const struct suite *s = &suites[i];

		if (s->exchange != NULL && has_exchange(list, s->exchange) &&
		    has_cipher(list, s->cipher) && !tw_strs_has(list, s->name))
			return tw_fail(err, TW_UNSUPPORTED,
				       "cipher_suites: GnuTLS would enable %s, too: "
				       "add it to the list",
				       s->name);
	}
	return 0;
}

static int add_suites(const struct tw_strs *list, struct tw_buf *out, struct tw_err *err)
{
	if (list->count == 0)
		return 0;
	if (check_names(list, err) < 0 || check_pairs(list, err) < 0)
		return -1;
	tw_buf_adds(out, ":-KX-ALL:-CIPHER-ALL:-MAC-ALL");
	for (size_t i = 0; i < list->count; i++) {
		const struct suite *s = find_suite(list->at[i]);

		assert(s != NULL); /* check_names() has found it */
		tw_buf_addf(out, ":+%s:+%s", s->cipher, s->mac);
		if (s->exchange != NULL)
			tw_buf_addf(out, ":+%s", s->exchange);
	}
	return 0;
}

static int add_curves(const struct tw_strs *list, struct tw_buf *out, struct tw_err *err)
{
	if (list->count == 0)
		return 0;
	tw_buf_adds(out, ":-GROUP-ALL");
	for (size_t i = 0; i < list->count; i++) {
		size_t c = 0;

		while (c < TW_COUNT(curves) && strcmp(curves[c].name, list->at[i]) != 0)
			c++;
		if (c == TW_COUNT(curves))
			return tw_fail(err, TW_UNSUPPORTED,
				       "curve_preferences: '%.64s' is not CurveP256, "
				       "CurveP384, CurveP521 or X25519",
				       list->at[i]);
		tw_buf_addf(out, ":+GROUP-%s", curves[c].group);
	}
	return 0;
}

static int check_with_gnutls(const char *text, struct tw_err *err)
{
	gnutls_priority_t p;
	const char *at = text;
	const int rc = gnutls_priority_init(&p, text, &at);

	if (rc < 0)
		return tw_fail(err, TW_UNSUPPORTED, "GnuTLS: %s: '%.64s'",
			       gnutls_strerror(rc), at);
	gnutls_priority_deinit(p);
	return 0;
}

int tw_web_tls_priorities(const struct tw_web_config *c, struct tw_buf *out,
			  struct tw_err *err)
{
	tw_buf_adds(out, "SECURE128:-VERS-ALL");
	for (int v = (int)c->min; v <= (int)c->max; v++)
		tw_buf_addf(out, ":+VERS-TLS%s", versions[v]);
	if (add_suites(&c->cipher_suites, out, err) < 0 ||
	    add_curves(&c->curves, out, err) < 0)
		return tw_err_wrap(err, "tls_server_config");
	if (c->servers_order)
		tw_buf_adds(out, ":%SERVER_PRECEDENCE");
	if (tw_buf_failed(out))
		return tw_fail(err, TW_NOMEM, "web configuration");
	if (check_with_gnutls(out->data, err) < 0)
		return tw_err_wrap(err, "tls_server_config");
	return 0;
}
