/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/signature.h"

#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"

#if TW_SODIUM
#include <sodium.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- minisign's files ---- */

struct line {
	const char *at;
	size_t len;
};

/* Take the next line, without its end. It is empty at the end of the text. */
static struct line next_line(const char **text, size_t *len)
{
	const char *end = memchr(*text, '\n', *len);
	struct line l = { *text, end != NULL ? (size_t)(end - *text) : *len };

	*len -= l.len + (end != NULL);
	*text += l.len + (end != NULL);
	if (l.len > 0 && l.at[l.len - 1] == '\r')
		l.len--;
	return l;
}

static bool skip_prefix(struct line *l, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (l->len < n || memcmp(l->at, prefix, n) != 0)
		return false;
	l->at += n;
	l->len -= n;
	return true;
}

/* Decode a line of base64 into exactly size bytes. */
static int decode(const char *what, const char *text, size_t len, unsigned char *out,
		  size_t size, struct tw_err *err)
{
	char *data = NULL;
	size_t n;
	int rc = -1;

	if (tw_base64_read(text, len, &data, &n, err) < 0) {
		tw_err_wrap(err, "%s", what);
		goto out;
	}
	if (n != size) {
		tw_fail(err, TW_PARSE, "%s: %zu bytes, want %zu", what, n, size);
		goto out;
	}
	memcpy(out, data, size);
	rc = 0;
out:
	free(data);
	return rc;
}

static int check_size(const char *what, size_t len, struct tw_err *err)
{
	if (len > TW_MINISIGN_TEXT_MAX)
		return tw_fail(err, TW_INVALID, "%s: %zu bytes, limit is %d", what, len,
			       TW_MINISIGN_TEXT_MAX);
	return 0;
}

int tw_minisign_key(const char *what, const char *text, size_t len, unsigned char *out,
		    size_t size, struct tw_err *err)
{
	struct line comment, key;

	if (check_size(what, len, err) < 0)
		return -1;
	comment = next_line(&text, &len);
	key = next_line(&text, &len);
	if (!skip_prefix(&comment, "untrusted comment:") || key.len == 0)
		return tw_fail(
			err, TW_PARSE,
			"%s: want a line 'untrusted comment: ..' and one of base64",
			what);
	return decode(what, key.at, key.len, out, size, err);
}

int tw_minisign_signature(const char *text, size_t len, struct tw_minisig *out,
			  struct tw_err *err)
{
	struct line untrusted, signature, trusted, global;
	struct tw_minisig s;

	if (check_size("signature", len, err) < 0)
		return -1;
	untrusted = next_line(&text, &len);
	signature = next_line(&text, &len);
	trusted = next_line(&text, &len);
	global = next_line(&text, &len);
	if (!skip_prefix(&untrusted, "untrusted comment:") ||
	    !skip_prefix(&trusted, "trusted comment: ") || global.len == 0)
		return tw_fail(err, TW_PARSE, "signature: want minisign's four lines");
	if (decode("signature", signature.at, signature.len, s.signature,
		   sizeof(s.signature), err) < 0 ||
	    decode("signature of the comment", global.at, global.len, s.global,
		   sizeof(s.global), err) < 0)
		return -1;
	s.comment = trusted.at;
	s.comment_len = trusted.len;
	*out = s;
	return 0;
}

/* ---- cryptography ---- */

#if TW_SODIUM

/* Offsets in a public key and a signature: kind, key number, the rest. */
#define KIND 2
#define REST (KIND + TW_MINISIGN_ID)

/* The decoded file of a secret key. */
struct secret {
	unsigned char kind[KIND], kdf[KIND], sum[KIND];
	unsigned char salt[crypto_pwhash_scryptsalsa208sha256_SALTBYTES];
	unsigned char ops[8], mem[8];
	/* The fields from here on are XORed with a scrypt stream of the password. */
	unsigned char id[TW_MINISIGN_ID];
	unsigned char key[crypto_sign_SECRETKEYBYTES];
	unsigned char check[crypto_generichash_BYTES];
};
_Static_assert(sizeof(struct secret) == TW_MINISIGN_SECRET, "minisign's file");

#define HIDDEN offsetof(struct secret, id)
/* Limits of scrypt for untrusted key files; minisign itself uses 1 GiB. */
#define MEMORY_MAX ((uint64_t)2 << 30)
#define OPS_MAX ((uint64_t)1 << 27)

bool tw_signature_available(void)
{
	return true;
}

static int start(struct tw_err *err)
{
	return sodium_init() >= 0
		       ? 0
		       : tw_fail(err, TW_UNSUPPORTED, "libsodium does not start");
}

static uint64_t little_endian(const unsigned char p[8])
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static int unhide(struct secret *s, const char *password, struct tw_err *err)
{
	const uint64_t ops = little_endian(s->ops), mem = little_endian(s->mem);
	unsigned char stream[sizeof(*s) - HIDDEN], *hidden = s->id;

	if (ops > OPS_MAX || mem > MEMORY_MAX)
		return tw_fail(err, TW_INVALID,
			       "secret key: its scrypt parameters exceed our limits");
	if (crypto_pwhash_scryptsalsa208sha256(stream, sizeof(stream), password,
					       strlen(password), s->salt, ops,
					       (size_t)mem) != 0)
		return tw_fail(err, TW_NOMEM, "secret key's password");
	for (size_t i = 0; i < sizeof(stream); i++)
		hidden[i] ^= stream[i];
	sodium_memzero(stream, sizeof(stream));
	return 0;
}

static int read_secret(const char *text, size_t len, const char *password,
		       struct secret *s, struct tw_err *err)
{
	unsigned char check[crypto_generichash_BYTES];
	crypto_generichash_state h;

	if (start(err) < 0 || tw_minisign_key("secret key", text, len, (unsigned char *)s,
					      sizeof(*s), err) < 0)
		return -1;
	if (memcmp(s->kind, "Ed", 2) != 0 || memcmp(s->sum, "B2", 2) != 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "secret key: not in minisign's format");
	if (memcmp(s->kdf, "Sc", 2) == 0) {
		if (password == NULL)
			return tw_fail(err, TW_DENIED, "secret key: it has a password");
		if (unhide(s, password, err) < 0)
			return -1;
	} else if (memcmp(s->kdf, "\0\0", 2) != 0) {
		return tw_fail(err, TW_UNSUPPORTED,
			       "secret key: not in minisign's format");
	} else {
		return 0; /* minisign writes no checksum without a password */
	}
	crypto_generichash_init(&h, NULL, 0, sizeof(check));
	crypto_generichash_update(&h, s->kind, sizeof(s->kind));
	crypto_generichash_update(&h, s->id, sizeof(s->id));
	crypto_generichash_update(&h, s->key, sizeof(s->key));
	crypto_generichash_final(&h, check, sizeof(check));
	if (sodium_memcmp(check, s->check, sizeof(check)) != 0)
		return tw_fail(err, TW_DENIED, "secret key: wrong password");
	return 0;
}

/* BLAKE2b-512, which a prehashed signature signs. */
static void hash(const void *data, size_t len, unsigned char out[64])
{
	crypto_generichash(out, 64, data, len, NULL, 0);
}

/* The second signature, which covers the first one and the trusted comment. */
static int sign_comment(const struct secret *s, const unsigned char *signature,
			const char *comment, unsigned char out[TW_MINISIGN_GLOBAL],
			struct tw_err *err)
{
	struct tw_buf b = { 0 };

	tw_buf_add(&b, signature, crypto_sign_BYTES);
	tw_buf_adds(&b, comment);
	if (tw_buf_failed(&b)) {
		tw_buf_clear(&b);
		return tw_fail(err, TW_NOMEM, "signature");
	}
	crypto_sign_detached(out, NULL, (const unsigned char *)b.data, b.len, s->key);
	tw_buf_clear(&b);
	return 0;
}

int tw_signature_make(const char *key_text, size_t key_len, const char *password,
		      const char *comment, const void *data, size_t len,
		      struct tw_buf *out, struct tw_err *err)
{
	unsigned char signature[TW_MINISIGN_SIGNATURE] = "ED", digest[64];
	unsigned char global[TW_MINISIGN_GLOBAL];
	struct secret s = { 0 };
	int rc = -1;

	if (read_secret(key_text, key_len, password, &s, err) < 0)
		goto out;
	hash(data, len, digest);
	memcpy(signature + KIND, s.id, sizeof(s.id));
	crypto_sign_detached(signature + REST, NULL, digest, sizeof(digest), s.key);
	if (sign_comment(&s, signature + REST, comment, global, err) < 0)
		goto out;
	tw_buf_adds(out, "untrusted comment: signature by tallywatt\n");
	tw_buf_add_base64(out, signature, sizeof(signature));
	tw_buf_addf(out, "\ntrusted comment: %s\n", comment);
	tw_buf_add_base64(out, global, sizeof(global));
	tw_buf_adds(out, "\n");
	if (tw_buf_failed(out)) {
		tw_fail(err, TW_NOMEM, "signature");
		goto out;
	}

	rc = 0;
out:
	sodium_memzero(&s, sizeof(s));
	return rc;
}

int tw_signature_public(const char *key_text, size_t key_len, const char *password,
			struct tw_strs *keys, struct tw_err *err)
{
	unsigned char bytes[TW_MINISIGN_PUBLIC] = "Ed";
	struct tw_buf text = { 0 };
	struct secret s = { 0 };
	int rc = -1;

	if (read_secret(key_text, key_len, password, &s, err) < 0)
		goto out;
	memcpy(bytes + KIND, s.id, sizeof(s.id));
	crypto_sign_ed25519_sk_to_pk(bytes + REST, s.key);
	tw_buf_add_base64(&text, bytes, sizeof(bytes));
	if (tw_buf_failed(&text)) {
		tw_fail(err, TW_NOMEM, "public key");
		goto out;
	}
	if (tw_strs_add(keys, text.data, text.len, err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&text);
	sodium_memzero(&s, sizeof(s));
	return rc;
}

/* Copy the key whose number the signature has to out. */
static int find_key(const struct tw_minisig *s, const struct tw_strs *keys,
		    unsigned char out[TW_MINISIGN_PUBLIC], struct tw_err *err)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (decode("public key", keys->at[i], strlen(keys->at[i]), out,
			   TW_MINISIGN_PUBLIC, err) < 0)
			return -1;
		if (memcmp(out + KIND, s->signature + KIND, TW_MINISIGN_ID) == 0)
			return 0;
	}
	return tw_fail(err, TW_DENIED,
		       "signed by an unknown key: none of the %zu trusted keys",
		       keys->count);
}

static bool check_comment(const struct tw_minisig *s, const unsigned char *key)
{
	unsigned char both[crypto_sign_BYTES + TW_MINISIGN_TEXT_MAX];

	memcpy(both, s->signature + REST, crypto_sign_BYTES);
	memcpy(both + crypto_sign_BYTES, s->comment, s->comment_len);
	return crypto_sign_verify_detached(s->global, both,
					   crypto_sign_BYTES + s->comment_len, key) == 0;
}

int tw_signature_check(const char *signature, size_t signature_len,
		       const struct tw_strs *keys, const void *data, size_t len,
		       struct tw_err *err)
{
	unsigned char key[TW_MINISIGN_PUBLIC], digest[64];
	const unsigned char *message = data;
	struct tw_minisig s;

	if (start(err) < 0 ||
	    tw_minisign_signature(signature, signature_len, &s, err) < 0 ||
	    find_key(&s, keys, key, err) < 0)
		return -1;
	if (memcmp(s.signature, "ED", KIND) == 0) {
		hash(data, len, digest);
		message = digest;
		len = sizeof(digest);
	} else if (memcmp(s.signature, "Ed", KIND) != 0) {
		return tw_fail(err, TW_UNSUPPORTED,
			       "signature: not an Ed25519 signature");
	}
	if (crypto_sign_verify_detached(s.signature + REST, message, len, key + REST) !=
	    0)
		return tw_fail(err, TW_DENIED, "the signature does not match this file");
	if (!check_comment(&s, key + REST))
		return tw_fail(err, TW_DENIED,
			       "the trusted comment is not the one that was signed");
	return 0;
}

#else

bool tw_signature_available(void)
{
	return false;
}

int tw_signature_make(const char *key_text, size_t key_len, const char *password,
		      const char *comment, const void *data, size_t len,
		      struct tw_buf *out, struct tw_err *err)
{
	(void)key_text, (void)key_len, (void)password, (void)comment;
	(void)data, (void)len, (void)out;
	return tw_fail(err, TW_UNSUPPORTED, "this build cannot sign: no libsodium");
}

int tw_signature_public(const char *key_text, size_t key_len, const char *password,
			struct tw_strs *keys, struct tw_err *err)
{
	(void)key_text, (void)key_len, (void)password, (void)keys;
	return tw_fail(err, TW_UNSUPPORTED, "this build cannot sign: no libsodium");
}

int tw_signature_check(const char *signature, size_t signature_len,
		       const struct tw_strs *keys, const void *data, size_t len,
		       struct tw_err *err)
{
	(void)signature, (void)signature_len, (void)keys, (void)data, (void)len;
	return tw_fail(err, TW_UNSUPPORTED,
		       "this build cannot check signatures: no libsodium");
}

#endif

/* ---- pipelines and keys ---- */

#define KEY_TEXT 56 /* base64 of TW_MINISIGN_PUBLIC */

static int check_signed(const struct tw_fileset_file *signature,
			struct tw_fileset *pipeline, const struct tw_strs *keys,
			struct tw_err *err)
{
	const struct tw_fileset_file *m = tw_fileset_find(pipeline, TW_MANIFEST_NAME);

	if (m == NULL)
		return tw_fail(err, TW_INVALID,
			       TW_MANIFEST_SIGNATURE " without " TW_MANIFEST_NAME);
	if (tw_signature_check(signature->data, signature->len, keys, m->data, m->len,
			       err) < 0)
		return tw_err_wrap(err, TW_MANIFEST_SIGNATURE);
	return 0;
}

/* Whether a manifest with this name and version may stand for the pipeline. */
static int check_id(const struct tw_manifest_id *id, const char *name, bool required,
		    struct tw_err *err)
{
	if (required && id->version == 0)
		return tw_fail(err, TW_DENIED,
			       TW_MANIFEST_NAME " has no pipeline and version: sign it "
						"again with tallywatt publish --sign");
	if (name != NULL && id->version != 0 && strcmp(id->pipeline, name) != 0)
		return tw_fail(err, TW_DENIED,
			       TW_MANIFEST_NAME " is of pipeline '%s', not of '%s'",
			       id->pipeline, name);
	return 0;
}

int tw_signature_check_pipeline(struct tw_fileset *pipeline, const char *name,
				const struct tw_strs *keys, bool required,
				struct tw_err *err)
{
	const struct tw_fileset_file *signature =
		tw_fileset_find(pipeline, TW_MANIFEST_SIGNATURE);
	struct tw_manifest_id id;
	struct tw_err why = { 0 };

	if (signature == NULL && required)
		return tw_fail(err, TW_DENIED, "not signed: there is no %s",
			       TW_MANIFEST_SIGNATURE);
	if (signature != NULL && (required || keys->count > 0) &&
	    check_signed(signature, pipeline, keys, err) < 0)
		return -1;
	if (tw_manifest_check(pipeline, &id, &why) == 0)
		return check_id(&id, name, required, err);
	if (why.code == TW_NOTFOUND && signature == NULL)
		return 0;
	return tw_fail(err, why.code, "%s", why.text);
}

static int add_key(const char *text, size_t len, struct tw_strs *keys, struct tw_err *err)
{
	unsigned char bytes[TW_MINISIGN_PUBLIC];

	if (decode("public key", text, len, bytes, sizeof(bytes), err) < 0)
		return -1;
	if (memcmp(bytes, "Ed", 2) != 0)
		return tw_fail(err, TW_UNSUPPORTED, "public key: not an Ed25519 key");
	return tw_strs_add(keys, text, len, err);
}

static int read_key_file(const char *path, struct tw_strs *keys, struct tw_err *err)
{
	const char *line, *end;
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, TW_MINISIGN_TEXT_MAX, &text, &len, err) < 0)
		goto out;
	/* `minisign -P` takes the base64 alone, so a file may omit the comment line. */
	line = strncmp(text, "untrusted comment:", 18) == 0 ? strchr(text, '\n') : text;
	if (line == NULL) {
		tw_fail(err, TW_PARSE, "'%s': no key", path);
		goto out;
	}
	line += *line == '\n';
	end = line + strcspn(line, "\r\n");
	if (add_key(line, (size_t)(end - line), keys, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	free(text);
	return rc;
}

int tw_signature_read_key(const char *path_or_key, struct tw_strs *keys,
			  struct tw_err *err)
{
	const size_t len = strlen(path_or_key);

	if (len == KEY_TEXT && strncmp(path_or_key, "RW", 2) == 0)
		return add_key(path_or_key, len, keys, err);
	return read_key_file(path_or_key, keys, err);
}

int tw_signature_read_keys(const struct tw_strs *paths_or_keys, struct tw_strs *keys,
			   struct tw_err *err)
{
	for (size_t i = 0; i < paths_or_keys->count; i++)
		if (tw_signature_read_key(paths_or_keys->at[i], keys, err) < 0)
			return -1;
	return 0;
}

/* ---- the signer ---- */

static int read_password(const char *path, char **out, struct tw_err *err)
{
	const char *set = getenv("TW_SIGN_PASSWORD");
	size_t len;

	if (path != NULL) {
		if (tw_file_read(path, TW_MINISIGN_TEXT_MAX, out, &len, err) < 0)
			return -1;
		(*out)[strcspn(*out, "\r\n")] = '\0';
		return 0;
	}
	if (set == NULL)
		return 0;
	*out = strdup(set);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "password");
}

int tw_signer_read(const char *key_file, const char *password_file, struct tw_signer *out,
		   struct tw_err *err)
{
	struct tw_signer s = { 0 };
	int rc = -1;

	if (read_password(password_file, &s.password, err) < 0 ||
	    tw_file_read(key_file, TW_MINISIGN_TEXT_MAX, &s.key, &s.key_len, err) < 0)
		goto out;
	if (tw_signature_public(s.key, s.key_len, s.password, &s.keys, err) < 0) {
		tw_err_wrap(err, "'%s'", key_file);
		goto out;
	}

	*out = s;
	s = (struct tw_signer){ 0 };
	rc = 0;
out:
	tw_signer_release(&s);
	return rc;
}

void tw_signer_release(struct tw_signer *s)
{
	if (s->key != NULL)
		explicit_bzero(s->key, s->key_len);
	if (s->password != NULL)
		explicit_bzero(s->password, strlen(s->password));
	free(s->key);
	free(s->password);
	tw_strs_clear(&s->keys);
	*s = (struct tw_signer){ 0 };
}

int tw_signer_sign(const struct tw_signer *s, const void *manifest, size_t len,
		   struct tw_buf *out, struct tw_err *err)
{
	char comment[96];

	snprintf(comment, sizeof(comment), "timestamp:%lld\tfile:%s",
		 (long long)time(NULL), TW_MANIFEST_NAME);
	return tw_signature_make(s->key, s->key_len, s->password, comment, manifest, len,
				 out, err);
}

int tw_signer_add(const struct tw_signer *s, const struct tw_manifest_id *id,
		  struct tw_fileset *pipeline, struct tw_err *err)
{
	const struct tw_fileset_file *m;
	struct tw_buf b = { 0 };

	if (tw_manifest_add(pipeline, id, err) < 0)
		return -1;
	m = tw_fileset_find(pipeline, TW_MANIFEST_NAME);
	if (tw_signer_sign(s, m->data, m->len, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	return tw_fileset_take_buf(pipeline, TW_MANIFEST_SIGNATURE, &b, err);
}
