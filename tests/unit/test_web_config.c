/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/web_config.h"
#include "lib/http/web_tls.h"
#include "lib/http/web_users.h"
#include "tests/unit/fail_alloc.h"

#include <string.h>

/* "secret", at bcrypt's lowest cost. */
#define HASH "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

static const char whole[] = "---\n"
			    "# a comment\n"
			    "tls_server_config:\n"
			    "  cert_file: \"a b.crt\"  # another\n"
			    "  key_file: 'key#1'\n"
			    "\n"
			    "  client_auth_type: RequireAndVerifyClientCert\n"
			    "  client_ca_file: /ca.crt\r\n"
			    "  min_version: TLS13\n"
			    "  cipher_suites:\n"
			    "  - TLS_AES_128_GCM_SHA256\n"
			    "  curve_preferences:\n"
			    "    - X25519 # fast\n"
			    "    - 'CurveP256'\n"
			    "  prefer_server_cipher_suites: true\n"
			    "http_server_config:\n"
			    "   http2: false\n"
			    "   headers:\n"
			    "      X-One: 1 and more\n"
			    "      \"X-Two\": \"a: b\"\n"
			    "basic_auth_users:\n"
			    "  alice: " HASH "\n"
			    "  'bob': '" HASH "'\n";

static int parse(const char *text, struct tw_web_config *c, struct tw_err *err)
{
	return tw_web_config_parse(text, strlen(text), c, err);
}

static void a_file_of_an_exporter_is_read(void **state)
{
	struct tw_web_config c = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (parse(whole, &c, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(c.cert_file, "a b.crt");
	assert_string_equal(c.key_file, "key#1");
	assert_string_equal(c.client_ca_file, "/ca.crt");
	assert_true(c.client_auth);
	assert_int_equal(c.min, TW_TLS_1_3);
	assert_int_equal(c.max, TW_TLS_1_3);
	assert_int_equal(c.cipher_suites.count, 1);
	assert_int_equal(c.curves.count, 2);
	assert_string_equal(c.curves.at[0], "X25519");
	assert_string_equal(c.curves.at[1], "CurveP256");
	assert_true(c.servers_order);
	assert_int_equal(c.headers.count, 4);
	assert_string_equal(c.headers.at[1], "1 and more");
	assert_string_equal(c.headers.at[2], "X-Two");
	assert_string_equal(c.headers.at[3], "a: b");
	assert_int_equal(c.users.count, 4);
	assert_string_equal(c.users.at[2], "bob");
	assert_string_equal(c.users.at[3], HASH);
	tw_web_config_release(&c);
	assert_int_equal(parse("", &c, &err), 0);
	assert_int_equal(c.min, TW_TLS_1_2);
	tw_web_config_release(&c);
	assert_int_equal(parse("basic_auth_users:\n", &c, &err), 0);
	assert_int_equal(c.users.count, 0);
	tw_web_config_release(&c);
}

static void what_is_not_understood_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "tls:\n", "line 1: tls: not known, or not done here" },
		{ "tls_server_config:\n  cipher_suites:\n  - A\n  - A\n",
		  "line 4: A: it is there twice" },
		{ "tls_server_config:\n  cipher_suites:\n - A\n",
		  "line 3: an entry of no list" },
		{ "tls_server_config:\n  cipher_suites:\n  - A\n  min_version: TLS12\n  "
		  "- "
		  "B\n",
		  "line 5: an entry of no list" },
		{ "tls_server_config:\n  cipher_suites:\n  - - A\n",
		  "line 3: only '- value' is taken" },
		{ "tls_server_config:\n  cipher_suites:\n  - A: B\n",
		  "line 3: something behind a text" },
		{ "- a\n", "line 1: an entry of no list" },
		{ "tls_server_config:\n  curve_preferences: X\n",
		  "line 2: curve_preferences: not known" },
		{ "tls_server_config:\n  prefer_server_cipher_suites: 1\n",
		  "neither true nor false" },
		{ "tls_server_config:\n  cert: x\n",
		  "line 2: cert: not done here: only files are read: see cert_file" },
		{ "tls_server_config:\n  client_allowed_sans:\n  - a\n",
		  "client_allowed_sans: not done here: every certificate of" },
		{ "rate_limit:\n  burst: 1\n",
		  "rate_limit: not done here: requests are not limited by rate" },
		{ "tls_server_config:\n  cert_file: a\n",
		  "tls_server_config: only one of cert_file, key_file" },
		{ "tls_server_config:\n  cert_file: a\n  cert_file: b\n",
		  "line 3: cert_file: it is there twice" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_ca_file: "
		  "c\n",
		  "go together" },
		{ "tls_server_config:\n  client_auth_type: RequestClientCert\n",
		  "'RequestClientCert' is neither NoClientCert nor" },
		{ "tls_server_config:\n  min_version: SSL3\n", "'SSL3' is not TLS10" },
		{ "tls_server_config:\n  max_version: TLS11\n",
		  "min_version is above max_version" },
		{ "basic_auth_users:\n  a: plain\n", "line 2: a: not a hash of bcrypt" },
		{ "basic_auth_users:\n  a: " HASH "\n  a: " HASH "\n",
		  "line 3: a: it is there twice" },
		{ "basic_auth_users: x\n", "basic_auth_users: not known" },
		{ "basic_auth_users:\n   a: " HASH "\n b: " HASH "\n",
		  "line 3: indented as nothing before it" },
		{ "http_server_config:\n  http2: maybe\n",
		  "http2: neither true nor false" },
		{ "http_server_config:\n  headers:\n    A: \"x\\n\"\n",
		  "line 3: a control character or an escape in a text" },
		{ "http_server_config:\n  headers:\n    A: \"x\n",
		  "a quote that does not end" },
		{ "http_server_config:\n  headers:\n    A: 'x' y\n",
		  "something behind a text" },
		{ "http_server_config:\n\theaders:\n", "line 2: indented by a tab" },
		{ "{a: b}\n", "only 'key: value' is taken" },
		{ "tls_server_config:\n  cert_file: [a]\n",
		  "only 'key: value' is taken" },
		{ "key\n", "line 1: want 'key: value'" },
		{ ":\n", "line 1: want 'key: value'" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };

		if (parse(cases[i].text, &c, &err) == 0 ||
		    strstr(err.text, cases[i].want) == NULL)
			fail_msg("'%s': %s", cases[i].text, err.text);
		assert_null(c.cert_file);
	}
}

#define GCM_128 "  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n"
#define GCM_256 "  - TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\n"
#define CBC_128 "  - TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA\n"
#define EC_128 "  - TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256\n"

static void suites_and_curves_are_what_gnutls_is_told(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "SECURE128:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3" },
		{ "tls_server_config:\n  max_version: TLS12\n  cipher_suites:\n" GCM_256
			  GCM_128,
		  "SECURE128:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:-CIPHER-ALL:-MAC-ALL:+AES-"
		  "256-"
		  "GCM:+AEAD:+ECDHE-RSA:+AES-128-GCM:+AEAD:+ECDHE-RSA" },
		{ "tls_server_config:\n  min_version: TLS13\n  cipher_suites:\n"
		  "  - TLS_CHACHA20_POLY1305_SHA256\n",
		  "SECURE128:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:-CIPHER-ALL:-MAC-ALL:"
		  "+CHACHA20-POLY1305:+AEAD" },
		{ "tls_server_config:\n  prefer_server_cipher_suites: true\n"
		  "  curve_preferences:\n  - X25519\n  - CurveP521\n",
		  "SECURE128:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3:-GROUP-ALL:+GROUP-"
		  "X25519:"
		  "+GROUP-SECP521R1:%SERVER_PRECEDENCE" },
		{ "tls_server_config:\n  cipher_suites:\n" GCM_128 CBC_128,
		  "tls_server_config: cipher_suites: GnuTLS would allow "
		  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 as well: name it, too" },
		{ "tls_server_config:\n  cipher_suites:\n" GCM_128 GCM_256 EC_128,
		  "GnuTLS would allow TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 as well" },
		{ "tls_server_config:\n  cipher_suites:\n  - TLS_RSA_WITH_RC4_128_SHA\n",
		  "'TLS_RSA_WITH_RC4_128_SHA' is not known, or insecure" },
		{ "tls_server_config:\n  curve_preferences:\n  - X448\n",
		  "curve_preferences: 'X448' is not CurveP256" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };

		assert_int_equal(parse(cases[i].text, &c, &err), 0);
		if (tw_web_tls_priorities(&c, &b, &err) < 0) {
			assert_int_equal(err.code, TW_UNSUPPORTED);
			if (strstr(err.text, cases[i].want) == NULL)
				fail_msg("%s", err.text);
		} else {
			assert_string_equal(b.data, cases[i].want);
		}
		tw_buf_clear(&b);
		tw_web_config_release(&c);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	int failures = 0;

	(void)state;
	for (int n = 1;; n++, failures++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = parse(whole, &c, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_web_config_release(&c);
			break;
		}
	}
	assert_true(failures > 5);
}

static void who_gives_name_and_password_may(void **state)
{
	static const struct {
		const char *header;
		enum tw_web_access want;
	} cases[] = {
		{ NULL, TW_WEB_UNKNOWN },
		{ "", TW_WEB_UNKNOWN },
		{ "Basic", TW_WEB_UNKNOWN },
		{ "Basic YWxpY2U6c2VjcmV0", TW_WEB_ALLOWED },   /* alice:secret */
		{ "basic   YWxpY2U6c2VjcmV0", TW_WEB_ALLOWED }, /* checked before */
		{ "Basic YWxpY2U6d3Jvbmc=", TW_WEB_UNKNOWN },   /* alice:wrong */
		{ "Basic YWxpY2U6d3Jvbmc=", TW_WEB_UNKNOWN },
		{ "Basic Y2Fyb2w6c2VjcmV0", TW_WEB_UNKNOWN }, /* carol:secret */
		{ "Basic YWxpY2U=", TW_WEB_UNKNOWN },         /* alice */
		{ "Basic YWxpY2U6c2VjcmV0!", TW_WEB_UNKNOWN },
		{ "Basic YQA6c2VjcmV0", TW_WEB_UNKNOWN }, /* a NUL in it */
		{ "Bearer YWxpY2U6c2VjcmV0", TW_WEB_UNKNOWN },
	};
	struct tw_web_config c = { 0 };
	struct tw_web_users *u = NULL, *nobody = NULL;
	struct tw_err err = { 0 };
	char huge[2000];

	(void)state;
	assert_int_equal(parse("basic_auth_users:\n  alice: " HASH "\n", &c, &err), 0);
	assert_int_equal(tw_web_users_new(&c.users, &u, &err), 0);
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		if (tw_web_users_check(u, cases[i].header) != cases[i].want)
			fail_msg("case %zu", i);
	memset(huge, 'A', sizeof(huge));
	memcpy(huge, "Basic ", 6);
	huge[sizeof(huge) - 1] = '\0';
	assert_int_equal(tw_web_users_check(u, huge), TW_WEB_UNKNOWN);
	tw_web_users_free(u);
	tw_strs_clear(&c.users);
	assert_int_equal(tw_web_users_new(&c.users, &nobody, &err), 0);
	assert_int_equal(tw_web_users_check(nobody, NULL), TW_WEB_ALLOWED);
	tw_web_users_free(nobody);
	tw_web_config_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_an_exporter_is_read),
		cmocka_unit_test(what_is_not_understood_is_refused_with_its_line),
		cmocka_unit_test(suites_and_curves_are_what_gnutls_is_told),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(who_gives_name_and_password_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
