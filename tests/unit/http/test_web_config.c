/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/web/web_config.h"
#include "lib/http/web/web_tls.h"
#include "lib/http/web/web_users.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "secret", at bcrypt's lowest cost. */
#define HASH_END "abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define HASH "$2b$04$" HASH_END

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

/* The same configuration in flow style, with escapes and a text over two lines. */
static void flow_style_and_escapes_are_read(void **state)
{
	static const char text[] =
		"%YAML 1.1\n"
		"---\n"
		"{tls_server_config: {cipher_suites: [A, \"B\\x43\"],\n"
		"  cert_file: a, key_file: b},\n"
		" http_server_config: {headers: {X-One: one\n"
		"   and two, 'X-Two': '~'}},\n"
		" basic_auth_users: {\"al\\u00e9\": \"" HASH "\"}}\n"
		"...\n";
	struct tw_web_config c = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (parse(text, &c, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(c.cipher_suites.count, 2);
	assert_string_equal(c.cipher_suites.at[1], "BC");
	assert_string_equal(c.headers.at[1], "one and two");
	assert_string_equal(c.headers.at[3], "~");
	assert_string_equal(c.users.at[0], "al\xc3\xa9");
	tw_web_config_release(&c);
}

static void an_empty_section_is_no_section(void **state)
{
	static const char *const texts[] = {
		"---\n",
		"~\n",
		"# nothing\n",
		"tls_server_config:\nhttp_server_config: null\nbasic_auth_users: {}\n",
		"tls_server_config:\n  cipher_suites:\n  curve_preferences: []\n",
		"http_server_config:\n  headers:\n",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };

		if (parse(texts[i], &c, &err) < 0)
			fail_msg("'%s': %s", texts[i], err.text);
		assert_null(c.cert_file);
		assert_int_equal(c.cipher_suites.count + c.headers.count + c.users.count,
				 0);
		tw_web_config_release(&c);
	}
}

static void an_error_names_the_line_and_the_key(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "tls:\n", "line 1: tls: unknown key" },
		{ "tls_server_config:\n  cipher_suites:\n  - A\n  - A\n",
		  "line 4: cipher_suites: 'A' twice" },
		{ "tls_server_config:\n  cipher_suites:\n - A\n",
		  "line 3: did not find expected key while parsing a block mapping" },
		{ "tls_server_config:\n  cipher_suites:\n  - @\n",
		  "line 3: found character that cannot start any token" },
		{ "tls_server_config:\n  cipher_suites:\n  - - A\n",
		  "line 3: cipher_suites: want a text" },
		{ "tls_server_config:\n  cipher_suites:\n  - A: B\n",
		  "line 3: cipher_suites: want a text" },
		{ "tls_server_config:\n  cipher_suites:\n  -\n",
		  "line 3: cipher_suites: no value" },
		{ "- a\n", "line 1: want 'key: value' lines" },
		{ "key\n", "line 1: want 'key: value' lines" },
		{ "tls_server_config:\n  curve_preferences: X\n",
		  "line 2: curve_preferences: want a list" },
		{ "tls_server_config:\n  prefer_server_cipher_suites: 1\n",
		  "line 2: prefer_server_cipher_suites: want true or false, not '1'" },
		{ "tls_server_config:\n  cert: x\n",
		  "line 2: cert: not supported: use cert_file" },
		{ "tls_server_config:\n  client_allowed_sans:\n  - a\n",
		  "client_allowed_sans: not supported: every certificate of" },
		{ "rate_limit:\n  burst: 1\n",
		  "line 1: rate_limit: not supported: requests are not limited by rate" },
		{ "tls_server_config:\n  cert_file: a\n",
		  "tls_server_config: cert_file and key_file go together" },
		{ "tls_server_config:\n  cert_file:\n  key_file: b\n",
		  "line 2: cert_file: no value" },
		{ "tls_server_config:\n  cert_file: \"\"\n",
		  "line 2: cert_file: no value" },
		{ "tls_server_config:\n  min_version:\n",
		  "line 2: min_version: no value" },
		{ "tls_server_config:\n  client_auth_type:\n",
		  "line 2: client_auth_type: no value" },
		{ "tls_server_config:\n  prefer_server_cipher_suites:\n",
		  "line 2: prefer_server_cipher_suites: no value" },
		{ "tls_server_config:\n  cert_file: [a]\n",
		  "line 2: cert_file: want a text" },
		{ "tls_server_config:\n  cert_file: a\n  cert_file: b\n",
		  "line 3: cert_file: the key is there twice" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  cert_file: c\n",
		  "line 4: cert_file: the key is there twice" },
		{ "tls_server_config:\ntls_server_config:\n",
		  "line 2: tls_server_config: the key is there twice" },
		{ "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_ca_file: "
		  "c\n",
		  "go together" },
		{ "tls_server_config:\n  client_auth_type: RequestClientCert\n",
		  "'RequestClientCert' is neither NoClientCert nor" },
		{ "tls_server_config:\n  min_version: SSL3\n", "'SSL3' is not TLS10" },
		{ "tls_server_config:\n  max_version: TLS11\n",
		  "min_version is above max_version" },
		{ "basic_auth_users:\n  a: plain\n", "line 2: a: not a bcrypt hash" },
		{ "basic_auth_users:\n  a: " HASH "x\n", "a: not a bcrypt hash" },
		{ "basic_auth_users:\n  a: $2b$4$" HASH_END "\n",
		  "a: not a bcrypt hash" },
		{ "basic_auth_users:\n  a: $3b$04$" HASH_END "\n",
		  "a: not a bcrypt hash" },
		{ "basic_auth_users:\n  a: $2c$04$" HASH_END "\n",
		  "a: not a bcrypt hash" },
		{ "basic_auth_users:\n  a: $2b_04$" HASH_END "\n",
		  "a: not a bcrypt hash" },
		{ "basic_auth_users:\n  a: $2b$04_" HASH_END "\n",
		  "a: not a bcrypt hash" },
		{ "basic_auth_users:\n  a: " HASH "\n  a: " HASH "\n",
		  "line 3: a: the key is there twice" },
		{ "basic_auth_users: x\n",
		  "line 1: basic_auth_users: want 'key: value' lines" },
		{ "basic_auth_users:\n   a: " HASH "\n b: " HASH "\n",
		  "line 3: did not find expected key" },
		{ "http_server_config:\n  http2: maybe\n",
		  "line 2: http2: want true or false, not 'maybe'" },
		{ "http_server_config:\n  headers: x\n",
		  "line 2: headers: want 'key: value' lines" },
		{ "http_server_config:\n  headers:\n    A: 1\n    A: 2\n",
		  "line 4: A: the key is there twice" },
		{ "http_server_config:\n  headers:\n    A: 1\n    B: 2\n    B: 3\n",
		  "line 5: B: the key is there twice" },
		{ "http_server_config:\n  headers:\n    A: {b: c}\n",
		  "line 3: A: want a text" },
		{ "http_server_config:\n  headers:\n    ? [A]\n    : b\n",
		  "line 3: key of a mapping: want a text" },
		{ "http_server_config:\n  headers:\n    A: \"x\n",
		  "found unexpected end of stream while scanning a quoted scalar" },
		{ "http_server_config:\n  headers:\n    A: 'x' y\n",
		  "line 3: did not find expected key" },
		{ "http_server_config:\n\theaders:\n",
		  "line 2: found character that cannot start any token" },
		{ "{a: b}\n", "line 1: a: unknown key" },
		{ ":\n", "line 1: did not find expected key" },
		{ "{~: b}\n", "line 1: key of a mapping: no value" },
		{ "--- {}\n--- {}\n", "line 2: a second document" },
		{ "http_server_config:\n  http2: false\n--- {}\n",
		  "line 3: a second document" },
		{ "{\n}\n@\n", "line 3: found character that cannot start any token" },
		{ "{}\nx: y\n", "line 2: did not find expected <document start>" },
		{ "\xff\n", "line 1: invalid leading UTF-8 octet" },
		{ "\xff\xfe", "line 1: invalid leading UTF-8 octet" }, /* UTF-16 */
		{ "\n\n#\x01\n", "line 3: control characters are not allowed" },
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

static void each_version_of_tls_has_a_name(void **state)
{
	static const char *const names[] = { "TLS10", "TLS11", "TLS12", "TLS13" };

	(void)state;
	for (int i = TW_TLS_1_0; i <= TW_TLS_1_3; i++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };
		char text[128];

		snprintf(text, sizeof(text),
			 "tls_server_config:\n  min_version: %s\n  max_version: %s\n",
			 names[i], names[i]);
		assert_int_equal(parse(text, &c, &err), 0);
		assert_int_equal(c.min, i);
		assert_int_equal(c.max, i);
		tw_web_config_release(&c);
	}
}

static void clients_may_come_without_a_certificate(void **state)
{
	struct tw_web_config c = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(
		parse("tls_server_config:\n  client_auth_type: NoClientCert\n", &c, &err),
		0);
	assert_false(c.client_auth);
	tw_web_config_release(&c);
}

/* A line break in a header would start another header. */
static void control_characters_are_refused_however_they_are_written(void **state)
{
	static const char *const values[] = { "\"a\\r\\nSet-Cookie: b\"", "\"a\\0b\"",
					      "\"a\\tb\"", "|\n      a\n", "\"\\x7f\"" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(values); i++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };

		tw_buf_addf(&b, "http_server_config:\n  headers:\n    A: %s\n",
			    values[i]);
		assert_int_equal(parse(b.data, &c, &err), -1);
		assert_string_equal(err.text, "line 3: A: a control character in a text");
		assert_int_equal(err.code, TW_UNSUPPORTED);
		tw_buf_clear(&b);
	}
}

static void anchors_aliases_and_tags_are_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "tls_server_config: &a\n  cert_file: b\n",
		  "line 1: tls_server_config: anchors are not supported" },
		{ "tls_server_config:\n  cert_file: &a b\n",
		  "line 2: cert_file: anchors are not supported" },
		{ "tls_server_config:\n  cipher_suites: &a [A]\n",
		  "line 2: cipher_suites: anchors are not supported" },
		{ "tls_server_config:\n  cert_file: *a\n",
		  "line 2: cert_file: aliases are not supported" },
		{ "http_server_config:\n  headers:\n    A: b\n    *a : b\n",
		  "line 4: aliases are not supported" },
		{ "tls_server_config:\n  cipher_suites:\n  - *a\n",
		  "line 3: cipher_suites: aliases are not supported" },
		{ "&a\ntls_server_config:\n", "line 1: anchors are not supported" },
		{ "http_server_config:\n  headers:\n    A: &a b\n",
		  "line 3: A: anchors are not supported" },
		{ "http_server_config:\n  headers:\n    &a A: b\n",
		  "line 3: anchors are not supported" },
		{ "basic_auth_users:\n  a: &a " HASH "\n",
		  "line 2: a: anchors are not supported" },
		{ "basic_auth_users:\n  &a a: " HASH "\n",
		  "line 2: anchors are not supported" },
		{ "tls_server_config:\n  cipher_suites: !!seq [A]\n",
		  "line 2: cipher_suites: tags are not supported" },
		{ "tls_server_config: !!map\n  cert_file: b\n",
		  "line 1: tls_server_config: tags are not supported" },
		{ "tls_server_config:\n  cert_file: !!str b\n",
		  "line 2: cert_file: tags are not supported" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(parse(cases[i].text, &c, &err), -1);
		assert_string_equal(err.text, cases[i].want);
		assert_int_equal(err.code, TW_UNSUPPORTED);
	}
}

static void write_text(const char *path, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
}

#define PATHS                                      \
	"tls_server_config:\n  cert_file: a.crt\n" \
	"  client_auth_type: RequireAndVerifyClientCert\n"

static void relative_paths_begin_at_the_file(void **state)
{
	static const char *const texts[] = {
		PATHS "  key_file: /b.key\n  client_ca_file: /d/../c.crt\n",
		PATHS "  key_file: b.key\n  client_ca_file: d/../c.crt\n",
	};
	char *dir = scratch_new(), path[512], want[512];
	struct tw_err err = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "%s/web.yml", dir);
	for (size_t i = 0; i < 2; i++) {
		const char *rest = i == 0 ? "" : dir;
		struct tw_web_config c = { 0 };

		write_text(path, texts[i]);
		if (tw_web_config_read(path, &c, &err) < 0)
			fail_msg("%s", err.text);
		snprintf(want, sizeof(want), "%s/a.crt", dir);
		assert_string_equal(c.cert_file, want);
		snprintf(want, sizeof(want), "%s/b.key", rest);
		assert_string_equal(c.key_file, want);
		snprintf(want, sizeof(want), "%s/d/../c.crt", rest);
		assert_string_equal(c.client_ca_file, want);
		tw_web_config_release(&c);
	}
	scratch_free(dir);
}

static void a_file_without_a_directory_is_in_the_current_one(void **state)
{
	char *dir = scratch_new(), *back = getcwd(NULL, 0);
	struct tw_web_config c = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(back);
	assert_int_equal(chdir(dir), 0);
	write_text("web.yml", "tls_server_config:\n  cert_file: a\n  key_file: d/b\n");
	assert_int_equal(tw_web_config_read("web.yml", &c, &err), 0);
	assert_string_equal(c.cert_file, "a");
	assert_string_equal(c.key_file, "d/b");
	tw_web_config_release(&c);
	write_text("web.yml", "tls:\n");
	assert_int_equal(tw_web_config_read("web.yml", &c, &err), -1);
	assert_string_equal(err.text, "web.yml: line 1: tls: unknown key");
	assert_int_equal(chdir(back), 0);
	free(back);
	scratch_free(dir);
}

/* head, count times the format of a number, tail. */
static void assert_too_large(const char *head, const char *format, int count,
			     const char *tail, const char *want)
{
	struct tw_web_config c = { 0 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, head);
	for (int i = 0; i < count; i++) {
		tw_buf_addf(&b, "%.*s", (int)strcspn(format, "#"), format);
		if (strchr(format, '#') != NULL)
			tw_buf_addf(&b, "%d%s", i, strchr(format, '#') + 1);
	}
	tw_buf_adds(&b, tail);
	assert_int_equal(parse(b.data, &c, &err), -1);
	if (strstr(err.text, want) == NULL)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
}

static void size_depth_and_counts_are_limited(void **state)
{
	static char largest[TW_WEB_CONFIG_BYTES_MAX];
	struct tw_web_config c = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	memset(largest, '#', sizeof(largest));
	assert_int_equal(tw_web_config_parse(largest, sizeof(largest), &c, &err), 0);
	tw_web_config_release(&c);
	assert_too_large("", "# a comment\n", 30000, "", "the file is over 262144 bytes");
	assert_too_large("tls_server_config:\n  cert_file: ", "a", 1024, "\n",
			 "line 2: cert_file: a text of more than 1023 bytes");
	assert_too_large("tls_server_config:\n  ", "a", 1023, ": b\n",
			 "aaaaaaaa: unknown key");
	assert_too_large("tls_server_config:\n  ", "a", 1024, ": b\n",
			 "line 2: key of a mapping: a text of more than 1023 bytes");
	assert_too_large("tls_server_config:\n  cipher_suites:\n", "  - s#\n", 1001, "",
			 "line 1003: cipher_suites: more than 1000 entries");
	assert_too_large("http_server_config:\n  headers:\n", "    h#: v\n", 1001, "",
			 "line 1003: h1000: more than 1000 entries");
	assert_too_large("tls_server_config: ", "[", 200000, "", "line 1");
	assert_too_large("", "{a: ", 50000, "", "line 1: a: unknown key");
}

#define GCM_128 "  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n"
#define GCM_256 "  - TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\n"
#define CBC_128 "  - TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA\n"
#define EC_128 "  - TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256\n"

static void suites_and_curves_become_a_priority_string(void **state)
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
		  "tls_server_config: cipher_suites: GnuTLS would enable "
		  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, too: add it to the list" },
		{ "tls_server_config:\n  cipher_suites:\n" GCM_128 GCM_256 EC_128,
		  "GnuTLS would enable TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, too" },
		{ "tls_server_config:\n  cipher_suites:\n  - TLS_RSA_WITH_RC4_128_SHA\n",
		  "'TLS_RSA_WITH_RC4_128_SHA' is not known or is insecure" },
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
	char *dir = scratch_new(), path[512];
	int failures = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/web.yml", dir);
	write_text(path, whole);
	for (int n = 1;; n++, failures++) {
		struct tw_web_config c = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_web_config_read(path, &c, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_web_config_release(&c);
			break;
		}
	}
	assert_true(failures > 5);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_an_exporter_is_read),
		cmocka_unit_test(flow_style_and_escapes_are_read),
		cmocka_unit_test(an_empty_section_is_no_section),
		cmocka_unit_test(an_error_names_the_line_and_the_key),
		cmocka_unit_test(each_version_of_tls_has_a_name),
		cmocka_unit_test(clients_may_come_without_a_certificate),
		cmocka_unit_test(control_characters_are_refused_however_they_are_written),
		cmocka_unit_test(anchors_aliases_and_tags_are_refused),
		cmocka_unit_test(relative_paths_begin_at_the_file),
		cmocka_unit_test(a_file_without_a_directory_is_in_the_current_one),
		cmocka_unit_test(size_depth_and_counts_are_limited),
		cmocka_unit_test(suites_and_curves_become_a_priority_string),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
