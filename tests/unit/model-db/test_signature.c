/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "model-db/publish.h"
#include "model-db/signature.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/fenced.h"
#include "tests/unit/scratch.h"
#include "tests/unit/versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if TW_SODIUM
#include <sodium.h>
#endif

static void need_sodium(void)
{
	assert_int_equal(tw_signature_available(), TW_SODIUM);
	if (tw_signature_available())
		return;
	printf("SKIPPED: test_signature: built without libsodium\n");
	skip();
}

/* A secret key without a password, in minisign's format; each seed another. */
static void make_signer(int seed, struct tw_signer *out)
{
#if TW_SODIUM
	unsigned char file[TW_MINISIGN_SECRET] = "Ed\0\0B2", bytes[32] = { 0 },
		      public[32];
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	char *dir = scratch_new(), *path;

	bytes[0] = (unsigned char)seed;
	file[54] = (unsigned char)seed; /* key number */
	crypto_sign_seed_keypair(public, file + 62, bytes);
	tw_buf_adds(&b, "untrusted comment: secret key\n");
	tw_buf_add_base64(&b, file, sizeof(file));
	tw_buf_adds(&b, "\n");
	assert_int_equal(tw_path_join(&path, &err, dir, "key", NULL), 0);
	assert_int_equal(tw_file_create(path, b.data, b.len, &err), 0);
	if (tw_signer_read(path, NULL, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
	free(path);
	scratch_free(dir);
#else
	(void)seed;
	(void)out;
#endif
}

static void make_set(const struct tw_signer *signer, const char *name, long long version,
		     struct tw_fileset *out)
{
	struct tw_manifest_id id = { "", version };
	struct tw_err err = { 0 };

	snprintf(id.pipeline, sizeof(id.pipeline), "%s", name);
	version_make(1, out);
	if (tw_signer_add(signer, &id, out, &err) < 0)
		fail_msg("%s", err.text);
}

static struct tw_fileset_file *file_of(struct tw_fileset *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->at[i].name, name) == 0)
			return &s->at[i];
	fail_msg("there is no '%s'", name);
	return NULL;
}

static void refused_as(struct tw_fileset *s, const char *name, enum tw_code code,
		       const struct tw_strs *keys, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_signature_check_pipeline(s, name, keys, true, &err), -1);
	assert_int_equal(err.code, code);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' is not in: %s", text, err.text);
	tw_fileset_clear(s);
}

static void refused(struct tw_fileset *s, const char *name, const struct tw_strs *keys,
		    const char *text)
{
	refused_as(s, name, TW_DENIED, keys, text);
}

static void a_signature_is_of_a_name_and_a_version(void **state)
{
	const struct tw_manifest_id none = { "", 0 };
	const struct tw_strs no_keys = { 0 };
	struct tw_strs bad_keys = { 0 };
	struct tw_signer mine = { 0 }, other = { 0 };
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	need_sodium();
	make_signer(1, &mine);
	make_signer(2, &other);
	make_set(&mine, "p", 3, &s);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &mine.keys, true, &err), 0);
	assert_int_equal(tw_signature_check_pipeline(&s, NULL, &mine.keys, true, &err),
			 0);
	refused(&s, "q", &mine.keys, "manifest.json is of pipeline 'p', not of 'q'");
	make_set(&mine, "p", 3, &s);
	refused(&s, "p", &other.keys, "signed by an unknown key");
	/* A signature that is there counts, even if none is required. */
	make_set(&mine, "p", 3, &s);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &other.keys, false, &err),
			 -1);
	err = (struct tw_err){ 0 };
	/* Without any keys no signature is known. */
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &no_keys, false, &err), 0);
	tw_fileset_clear(&s);
	version_make(1, &s);
	refused(&s, "p", &mine.keys, "not signed: there is no manifest.json.minisig");
	version_make(1, &s);
	assert_int_equal(tw_signer_add(&mine, &none, &s, &err), 0);
	refused(&s, "p", &mine.keys, "manifest.json has no pipeline and version");
	/* A required signature is checked without keys, too. */
	make_set(&mine, "p", 3, &s);
	refused(&s, "p", &no_keys, "signed by an unknown key");
	assert_int_equal(tw_strs_adds(&bad_keys, "RWQ=", &err), 0);
	make_set(&mine, "p", 3, &s);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &bad_keys, true, &err), -1);
	assert_non_null(strstr(err.text, "public key"));
	tw_strs_clear(&bad_keys);
	tw_fileset_clear(&s);
	/* Neither manifest nor signature, and none is required. */
	err = (struct tw_err){ 0 };
	version_make(1, &s);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &mine.keys, false, &err),
			 0);
	/* Without --require-signature as before. */
	assert_int_equal(tw_signer_add(&mine, &none, &s, &err), 0);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &mine.keys, false, &err),
			 0);
	tw_fileset_clear(&s);
	tw_signer_release(&mine);
	tw_signer_release(&other);
}

static void a_manifest_counts_without_a_signature(void **state)
{
	const struct tw_manifest_id id = { "p", 3 };
	const struct tw_strs keys = { 0 };
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	version_make(1, &s);
	assert_int_equal(tw_manifest_add(&s, &id, &err), 0);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &keys, false, &err), 0);
	assert_int_equal(tw_signature_check_pipeline(&s, "q", &keys, false, &err), -1);
	assert_int_equal(err.code, TW_DENIED);
	err = (struct tw_err){ 0 };
	/* A file that the manifest does not list. */
	assert_int_equal(tw_fileset_add(&s, "more", "x", 1, &err), 0);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &keys, false, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	err = (struct tw_err){ 0 };
	tw_fileset_clear(&s);
	/* A signature of no manifest. */
	version_make(1, &s);
	assert_int_equal(tw_fileset_add(&s, TW_MANIFEST_SIGNATURE, "x", 1, &err), 0);
	assert_int_equal(tw_signature_check_pipeline(&s, "p", &keys, false, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_fileset_clear(&s);
}

/* Change one character of a line of the signature file, by its number. */
static void change_line(struct tw_fileset_file *f, int line, size_t at)
{
	char *p = f->data;

	for (int i = 0; i < line; i++)
		p = strchr(p, '\n') + 1;
	p[at] = p[at] == 'A' ? 'B' : 'A';
}

/* The signature begins with "ED", of a hash, which is "RU" in base64. */
static void set_kind(struct tw_fileset_file *f, char second)
{
	char *p = strchr(f->data, '\n') + 1;

	assert_memory_equal(p, "RU", 2);
	p[1] = second;
}

static void each_part_of_a_signature_is_checked(void **state)
{
	struct tw_signer mine = { 0 };
	struct tw_fileset s = { 0 };

	(void)state;
	need_sodium();
	make_signer(1, &mine);
	make_set(&mine, "p", 3, &s);
	change_line(file_of(&s, TW_MANIFEST_SIGNATURE), 1, 40);
	refused(&s, "p", &mine.keys, "the signature does not match this file");
	make_set(&mine, "p", 3, &s);
	change_line(file_of(&s, TW_MANIFEST_SIGNATURE), 2,
		    strlen("trusted comment: timestamp:"));
	refused(&s, "p", &mine.keys,
		"the trusted comment is not the one that was signed");
	make_set(&mine, "p", 3, &s);
	change_line(file_of(&s, TW_MANIFEST_SIGNATURE), 3, 40);
	refused(&s, "p", &mine.keys,
		"the trusted comment is not the one that was signed");
	/* As "Ed" it would be of the manifest itself. */
	make_set(&mine, "p", 3, &s);
	set_kind(file_of(&s, TW_MANIFEST_SIGNATURE), 'W');
	refused(&s, "p", &mine.keys, "the signature does not match this file");
	make_set(&mine, "p", 3, &s);
	set_kind(file_of(&s, TW_MANIFEST_SIGNATURE), 'A');
	refused_as(&s, "p", TW_UNSUPPORTED, &mine.keys, "not an Ed25519 signature");
	/* Text that is no signature is not looked up among the keys. */
	make_set(&mine, "p", 3, &s);
	file_of(&s, TW_MANIFEST_SIGNATURE)->data[0] = 'U';
	refused_as(&s, "p", TW_PARSE, &mine.keys, "want minisign's four lines");
	/* The last bytes of the manifest count, too. */
	make_set(&mine, "p", 3, &s);
	file_of(&s, TW_MANIFEST_NAME)->data[file_of(&s, TW_MANIFEST_NAME)->len - 1] = ' ';
	refused(&s, "p", &mine.keys, "the signature does not match this file");
	tw_signer_release(&mine);
}

#define UNTRUSTED "untrusted comment: key"

static void key_files_and_texts_are_read(void **state)
{
	static const char *const bad[] = {
		UNTRUSTED, UNTRUSTED "\n",      "",
		"AAAA\n",  UNTRUSTED "\nRWQ\n", "comment\nx\n"
	};
	struct tw_signer mine = { 0 };
	char *dir = scratch_new(), *path, text[200];
	struct tw_strs keys = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	need_sodium();
	make_signer(1, &mine);
	assert_int_equal(tw_path_join(&path, &err, dir, "key.pub", NULL), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s%s%s", i < 2 ? UNTRUSTED "\n" : "",
			 mine.keys.at[0], i == 1 ? "\r\n" : "\n");
		assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
		if (tw_signature_read_key(path, &keys, &err) < 0)
			fail_msg("%s", err.text);
	}
	assert_int_equal(tw_signature_read_key(mine.keys.at[0], &keys, &err), 0);
	assert_int_equal(keys.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(keys.at[i], mine.keys.at[0]);
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		err = (struct tw_err){ 0 };
		assert_int_equal(tw_file_replace(path, bad[i], strlen(bad[i]), &err), 0);
		assert_int_equal(tw_signature_read_key(path, &keys, &err), -1);
		assert_non_null(strstr(err.text, "key.pub'"));
	}
	assert_int_equal(keys.count, 4);
	tw_strs_clear(&keys);
	tw_signer_release(&mine);
	free(path);
	scratch_free(dir);
}

/* Both are in the current directory: one begins as a key, one is as long. */
static void a_file_may_look_like_a_key(void **state)
{
	static const char *const names[] = {
		"RW.pub", "x234567890123456789012345678901234567890123456789012.pub"
	};
	char *dir = scratch_new(), *back = getcwd(NULL, 0);
	struct tw_signer mine = { 0 };
	struct tw_strs keys = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	need_sodium();
	make_signer(1, &mine);
	assert_int_equal(strlen(names[1]), strlen(mine.keys.at[0]));
	assert_int_equal(chdir(dir), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(tw_file_create(names[i], mine.keys.at[0],
						strlen(mine.keys.at[0]), &err),
				 0);
		if (tw_signature_read_key(names[i], &keys, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(keys.at[i], mine.keys.at[0]);
	}
	assert_int_equal(chdir(back), 0);
	free(back);
	tw_strs_clear(&keys);
	tw_signer_release(&mine);
	scratch_free(dir);
}

#define TWO_LINES "secret key: want a line 'untrusted comment: ..' and one of base64"

static void a_key_file_has_two_lines(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ UNTRUSTED "\nAAAA\n", "" },
		{ UNTRUSTED "\r\nAAAA\r\nmore", "" },
		{ "untrusted comment:\nAAAA", "" },
		{ "", TWO_LINES },
		{ "\n", TWO_LINES },
		{ "\r\n", TWO_LINES },
		{ "untrusted", TWO_LINES },
		{ UNTRUSTED, TWO_LINES },
		{ UNTRUSTED "\n", TWO_LINES },
		{ UNTRUSTED "\n\nAAAA\n", TWO_LINES },
		{ UNTRUSTED "\n\r\nAAAA\n", TWO_LINES },
		{ "comment: key\nAAAA\n", TWO_LINES },
		{ "AAAA\nAAAA\n", TWO_LINES },
		{ UNTRUSTED "\nA", "secret key: base64 of 1 characters" },
		{ UNTRUSTED "\nAA==\n", "secret key: 1 bytes, want 3" },
		{ UNTRUSTED "\nAAAAAAAA\n", "secret key: 6 bytes, want 3" },
	};

	(void)state;
	for (size_t i = 0; i < 2 * TW_COUNT(cases); i++) {
		const char *text = cases[i / 2].text, *want = cases[i / 2].want;
		struct fenced f = fenced_copy(text, strlen(text), i % 2);
		unsigned char out[] = "xxx";
		struct tw_err err = { 0 };

		if (*want == '\0') {
			assert_int_equal(tw_minisign_key("secret key", f.data,
							 strlen(text), out, 3, &err),
					 0);
			assert_memory_equal(out, "\0\0\0", 4);
		} else {
			assert_int_equal(tw_minisign_key("secret key", f.data,
							 strlen(text), out, 3, &err),
					 -1);
			assert_memory_equal(err.text, want, strlen(want));
			assert_int_equal(err.code, TW_PARSE);
			assert_memory_equal(out, "xxx", 4);
		}
		fenced_free(&f);
	}
}

static void a_key_file_has_a_limit(void **state)
{
	static char text[TW_MINISIGN_TEXT_MAX + 1];
	unsigned char out[3];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, UNTRUSTED, strlen(UNTRUSTED));
	memcpy(text + sizeof(text) - 7, "\nAAAA\n", 6);
	for (size_t more = 0; more < 2; more++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_minisign_key("secret key", text,
						 sizeof(text) - 1 + more, out, 3, &err),
				 more == 0 ? 0 : -1);
		assert_string_equal(err.text,
				    more == 0 ? ""
					      : "secret key: 4097 bytes, limit is 4096");
	}
}

#if TW_SODIUM
static int use_key(const char *key, size_t len, struct tw_buf *out, struct tw_strs *keys,
		   struct tw_err *err)
{
	if (tw_signature_make(key, len, NULL, "c", "data", 4, out, err) < 0 ||
	    tw_signature_public(key, len, NULL, keys, err) < 0)
		return -1;
	return tw_signature_check(out->data, out->len, keys, "data", 4, err);
}
#endif

static void secret_keys_of_another_format_are_rejected(void **state)
{
	(void)state;
	need_sodium();
#if TW_SODIUM
	static const char *const kinds[] = { "ed\0\0B2", "EdXXB2", "Ed\0\0B1" };

	for (size_t i = 0; i < 4; i++) {
		unsigned char file[TW_MINISIGN_SECRET] = { 0 };
		struct tw_buf b = { 0 }, out = { 0 };
		struct tw_strs keys = { 0 };

		if (i < 3)
			memcpy(file, kinds[i], 6);
		tw_buf_adds(&b, UNTRUSTED "\n");
		tw_buf_add_base64(&b, file, sizeof(file) - (i == 3));
		for (int j = 0; j < 2; j++) {
			struct tw_err err = { 0 };

			assert_int_equal(j == 0 ? tw_signature_make(b.data, b.len, NULL,
								    "", "", 0, &out, &err)
						: tw_signature_public(b.data, b.len, NULL,
								      &keys, &err),
					 -1);
			assert_string_equal(err.text,
					    i < 3 ? "secret key: not in minisign's format"
						  : "secret key: 157 bytes, want 158");
		}
		assert_int_equal(out.len + keys.count, 0);
		tw_buf_clear(&b);
	}
#endif
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	need_sodium();
#if TW_SODIUM
	struct tw_signer mine = { 0 };
	int failures = 0;

	make_signer(1, &mine);
	for (int n = 1;; n++, failures++) {
		struct tw_buf out = { 0 };
		struct tw_strs keys = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = use_key(mine.key, mine.key_len, &out, &keys, &err);
		if (!fail_alloc_told(rc, &err)) {
			/* Each of the four lines is whole. */
			for (size_t i = 0, lines = 0; i < out.len; i++) {
				lines += out.data[i] == '\n';
				assert_int_equal(lines == 4, i == out.len - 1);
			}
			tw_buf_clear(&out);
			tw_strs_clear(&keys);
			break;
		}
		tw_buf_clear(&out);
		tw_strs_clear(&keys);
	}
	assert_true(failures > 5);
	tw_signer_release(&mine);
#endif
}

static void a_signature_file_has_four_lines(void **state)
{
	static const char zero64[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
				     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==";
	static const char zero74[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
				     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
	struct tw_minisig s;
	struct tw_err none = { 0 };
	char text[600];

	(void)state;
	assert_int_equal(tw_minisign_signature("", 0, &s, &none), -1);
	assert_int_equal(none.code, TW_PARSE);
	for (int i = 0; i < 9; i++) {
		struct tw_err err = { 0 };
		const char *end = i == 1 ? "\r\n" : "\n";

		snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s",
			 i == 2   ? "comment"
			 : i == 7 ? "untrusted comment:"
				  : "untrusted comment: x",
			 end, i == 3 ? zero64 : zero74, end,
			 i == 4   ? "comment: y"
			 : i == 5 ? "trusted comment:"
				  : "trusted comment: y",
			 end, i == 6 ? "" : zero64, i == 7 ? "" : end);
		if (i == 8)
			memmove(text, strchr(text, '\n') + 1, strlen(strchr(text, '\n')));
		if (tw_minisign_signature(text, strlen(text), &s, &err) == 0) {
			assert_true(i < 2 || i == 7);
			assert_int_equal(s.comment_len, 1);
			assert_memory_equal(s.comment, "y", 1);
		} else {
			assert_true(i >= 2 && i != 7);
			assert_int_equal(err.code, TW_PARSE);
			if (i != 3)
				assert_string_equal(err.text, "signature: want "
							      "minisign's four lines");
		}
	}
}

/* The first line of a file of the largest size is long. */
static void a_signature_file_has_a_limit(void **state)
{
	static const char rest[] = "\nAA==\ntrusted comment: y\nAA==\n";
	const size_t max = TW_MINISIGN_TEXT_MAX;
	char *text = malloc(max + 2);
	struct tw_minisig s;

	(void)state;
	assert_non_null(text);
	for (size_t len = max; len <= max + 1; len++) {
		struct tw_err err = { 0 };

		memset(text, 'x', len);
		memcpy(text, "untrusted comment: ", 19);
		memcpy(text + len - strlen(rest), rest, strlen(rest));
		assert_int_equal(tw_minisign_signature(text, len, &s, &err), -1);
		/* The size was right: only the lines are not. */
		assert_int_equal(err.code, len > max ? TW_INVALID : TW_PARSE);
	}
	free(text);
}

/* As `minisign -G` writes a key with a password, but with less of scrypt. */
static void a_key_with_a_password_needs_it(void **state)
{
#if TW_SODIUM
	unsigned char file[TW_MINISIGN_SECRET] = "EdScB2", seed[32] = { 3 }, public[32];
	unsigned char stream[TW_MINISIGN_SECRET - 54];
	const uint64_t ops = 40000, mem = 17 << 20;
	struct tw_buf b = { 0 };
	struct tw_strs keys = { 0 };
	struct tw_err err = { 0 };
	crypto_generichash_state h;

	(void)state;
	crypto_sign_seed_keypair(public, file + 62, seed);
	file[6] = 1;                /* salt */
	memcpy(file + 38, &ops, 8); /* little endian, as this machine */
	memcpy(file + 46, &mem, 8);
	crypto_generichash_init(&h, NULL, 0, 32);
	crypto_generichash_update(&h, file, 2);
	crypto_generichash_update(&h, file + 54, 72);
	crypto_generichash_final(&h, file + 126, 32);
	assert_int_equal(crypto_pwhash_scryptsalsa208sha256(
				 stream, sizeof(stream), "pass", 4, file + 6, ops, mem),
			 0);
	for (size_t i = 0; i < sizeof(stream); i++)
		file[54 + i] ^= stream[i];
	for (int round = 0; round < 3; round++) {
		tw_buf_adds(&b, UNTRUSTED "\n");
		tw_buf_add_base64(&b, file, sizeof(file));
		if (round == 0) {
			assert_int_equal(
				tw_signature_public(b.data, b.len, "pass", &keys, &err),
				0);
			assert_int_equal(
				tw_signature_public(b.data, b.len, "word", &keys, &err),
				-1);
			assert_string_equal(err.text, "secret key: wrong password");
			err = (struct tw_err){ 0 };
			assert_int_equal(
				tw_signature_public(b.data, b.len, NULL, &keys, &err),
				-1);
			assert_string_equal(err.text, "secret key: it has a password");
		} else {
			err = (struct tw_err){ 0 };
			assert_int_equal(
				tw_signature_public(b.data, b.len, "pass", &keys, &err),
				-1);
			assert_non_null(strstr(err.text, "exceed our limits"));
		}
		tw_buf_clear(&b);
		file[38 + 4] = round == 0; /* 2^32 more operations */
		file[46 + 5] = round == 1; /* 2^40 more bytes */
	}
	assert_int_equal(keys.count, 1);
	tw_strs_clear(&keys);
#else
	(void)state;
	need_sodium();
#endif
}

static void scrypt_has_limits(void **state)
{
	(void)state;
	need_sodium();
#if TW_SODIUM
	static const struct {
		uint64_t ops, mem;
		const char *text;
	} cases[] = {
		/* So few operations need 1 MiB only. */
		{ 1 << 15, (uint64_t)2 << 30, "secret key: wrong password" },
		{ 1 << 15, ((uint64_t)2 << 30) + 1,
		  "secret key: its scrypt parameters exceed our limits" },
		{ (1 << 27) + 1, 1 << 24,
		  "secret key: its scrypt parameters exceed our limits" },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		unsigned char file[TW_MINISIGN_SECRET] = "EdScB2";
		struct tw_buf b = { 0 };
		struct tw_strs keys = { 0 };
		struct tw_err err = { 0 };

		memcpy(file + 38, &cases[i].ops, 8);
		memcpy(file + 46, &cases[i].mem, 8);
		tw_buf_adds(&b, UNTRUSTED "\n");
		tw_buf_add_base64(&b, file, sizeof(file));
		assert_int_equal(tw_signature_public(b.data, b.len, "pass", &keys, &err),
				 -1);
		assert_string_equal(err.text, cases[i].text);
		tw_buf_clear(&b);
	}
#endif
}

static int update(const char *db, int version, const struct tw_signer *signer,
		  struct tw_err *err)
{
	struct tw_fileset s = { 0 };
	int rc;

	version_make(version, &s);
	rc = tw_pipeline_update(db, "p", &s, signer, err);
	tw_fileset_clear(&s);
	return rc;
}

static int publish(const char *db, int version, const struct tw_signer *signer,
		   struct tw_err *err)
{
	const struct tw_publish_terms terms = { .signer = signer };
	struct tw_fileset s = { 0 };
	int rc;

	version_make(version, &s);
	rc = tw_pipeline_publish_with(db, "p", &s, &terms, err);
	tw_fileset_clear(&s);
	return rc;
}

/* The version that is published, which the signer has signed. */
static long long check_published(const char *db, const struct tw_signer *signer)
{
	const struct tw_fileset_limits limits = { 0 };
	struct tw_fileset s = { 0 };
	struct tw_manifest_id id;
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/p", db);
	assert_int_equal(tw_fileset_read_dir(&s, path, &limits, &err), 0);
	if (tw_signature_check_pipeline(&s, "p", &signer->keys, true, &err) < 0)
		fail_msg("%s", err.text);
	/* A signed version is a time, so that another database cannot fall behind. */
	assert_int_equal(tw_manifest_check(&s, &id, &err), 0);
	assert_true(id.version > 1600000000);
	tw_fileset_clear(&s);
	return id.version;
}

static void a_signer_signs_and_adds_only_to_its_own(void **state)
{
	struct tw_signer mine = { 0 }, other = { 0 };
	char *db = scratch_new();
	struct tw_err err = { 0 };
	long long version;

	(void)state;
	need_sodium();
	make_signer(1, &mine);
	make_signer(2, &other);
	assert_int_equal(publish(db, 1, &mine, &err), 0);
	version = check_published(db, &mine);
	/* The same files again. */
	assert_int_equal(publish(db, 1, &mine, &err), 0);
	assert_true(check_published(db, &mine) > version);
	assert_int_equal(update(db, 2, &other, &err), -1);
	assert_int_equal(err.code, TW_DENIED);
	assert_non_null(strstr(err.text,
			       "cannot add to the published version: "
			       "manifest.json.minisig: signed by an unknown key"));
	err = (struct tw_err){ 0 };
	assert_int_equal(publish(db, 2, NULL, &err), 0);
	assert_int_equal(update(db, 3, &mine, &err), -1);
	assert_non_null(
		strstr(err.text, "cannot add to the published version: not signed"));
	tw_signer_release(&mine);
	tw_signer_release(&other);
	scratch_free(db);
}

/* A set that can be merged with its like. */
static int update_models(const char *db, const struct tw_signer *signer,
			 struct tw_err *err)
{
	struct tw_fileset s = { 0 };
	int rc;

	assert_int_equal(tw_fileset_add(&s, "metadata.json", "{}", 2, err), 0);
	assert_int_equal(tw_fileset_add(&s, "node_type_index.json", "{}", 2, err), 0);
	rc = tw_pipeline_update(db, "p", &s, signer, err);
	tw_fileset_clear(&s);
	return rc;
}

static void a_signer_adds_to_what_it_has_signed(void **state)
{
	struct tw_signer mine = { 0 };
	char *db = scratch_new(),
	     *signature = scratch_path(db, "p/manifest.json.minisig");
	struct tw_err err = { 0 };
	long long version;

	(void)state;
	need_sodium();
	make_signer(1, &mine);
	if (update_models(db, &mine, &err) < 0)
		fail_msg("%s", err.text);
	version = check_published(db, &mine);
	if (update_models(db, &mine, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(check_published(db, &mine) > version);
	assert_int_equal(access(signature, F_OK), 0);
	/* A trainer without a key adds to it, and leaves no signature. */
	assert_int_equal(update_models(db, NULL, &err), 0);
	assert_int_equal(access(signature, F_OK), -1);
	free(signature);
	tw_signer_release(&mine);
	scratch_free(db);
}

static void a_signature_that_cannot_be_made_publishes_nothing(void **state)
{
	struct tw_publish_terms signing = { 0 };
	struct tw_signer mine = { 0 };
	char *db = scratch_new();
	struct tw_fileset s = { 0 };

	(void)state;
	need_sodium();
	make_signer(1, &mine);
	signing.signer = &mine;
	version_make(1, &s);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_pipeline_publish_with(db, "p", &s, &signing, &err);
		if (!fail_alloc_hit())
			break;
		/* Tidying up afterwards may fail without harm. */
		assert_int_equal(err.code, rc < 0 ? TW_NOMEM : TW_OK);
	}
	check_published(db, &mine);
	tw_fileset_clear(&s);
	tw_signer_release(&mine);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_is_of_a_name_and_a_version),
		cmocka_unit_test(a_manifest_counts_without_a_signature),
		cmocka_unit_test(each_part_of_a_signature_is_checked),
		cmocka_unit_test(key_files_and_texts_are_read),
		cmocka_unit_test(a_file_may_look_like_a_key),
		cmocka_unit_test(a_key_file_has_two_lines),
		cmocka_unit_test(a_key_file_has_a_limit),
		cmocka_unit_test(secret_keys_of_another_format_are_rejected),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(a_signature_file_has_four_lines),
		cmocka_unit_test(a_signature_file_has_a_limit),
		cmocka_unit_test(a_key_with_a_password_needs_it),
		cmocka_unit_test(scrypt_has_limits),
		cmocka_unit_test(a_signer_signs_and_adds_only_to_its_own),
		cmocka_unit_test(a_signer_adds_to_what_it_has_signed),
		cmocka_unit_test(a_signature_that_cannot_be_made_publishes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
