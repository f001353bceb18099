/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/sha256.h"

#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 64

/* FIPS 180-4, 4.2.2: fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, unsigned bits)
{
	return x >> bits | x << (32 - bits);
}

/* FIPS 180-4, 6.2.2, steps 1 to 4. */
static void add_block(uint32_t h[8], const unsigned char *p)
{
	uint32_t w[64], v[8];

	for (size_t t = 0; t < 16; t++)
		w[t] = (uint32_t)p[4 * t] << 24 | (uint32_t)p[4 * t + 1] << 16 |
		       (uint32_t)p[4 * t + 2] << 8 | p[4 * t + 3];
	for (size_t t = 16; t < 64; t++) {
		const uint32_t a = w[t - 15], b = w[t - 2];

		w[t] = (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10) + w[t - 7] +
		       (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) + w[t - 16];
	}
	memcpy(v, h, sizeof(v));
	for (size_t t = 0; t < 64; t++) {
		const uint32_t a = v[0], e = v[4];
		const uint32_t t1 =
			v[7] +
			(rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
			((e & v[5]) ^ (~e & v[6])) + k[t] + w[t];
		const uint32_t t2 =
			(rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
			((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (size_t i = 0; i < 8; i++)
		h[i] += v[i];
}

void tw_sha256_start(struct tw_sha256 *s)
{
	/* FIPS 180-4, 5.3.3: from the square roots of the first 8 primes. */
	*s = (struct tw_sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					0x510e527f, 0x9b05688c, 0x1f83d9ab,
					0x5be0cd19 } };
}

void tw_sha256_add(struct tw_sha256 *s, const void *data, size_t len)
{
	const size_t used = s->len % BLOCK;
	const size_t room = BLOCK - used;
	const unsigned char *p = data;

	s->len += len;
	if (used > 0 && len >= room) {
		memcpy(s->block + used, p, room);
		add_block(s->h, s->block);
		p += room;
		len -= room;
	} else if (used > 0) {
		memcpy(s->block + used, p, len);
		return;
	}
	for (; len >= BLOCK; p += BLOCK, len -= BLOCK)
		add_block(s->h, p);
	if (len > 0)
		memcpy(s->block, p, len);
}

void tw_sha256_end(struct tw_sha256 *s, char out[TW_SHA256_TEXT])
{
	const uint64_t bits = s->len * 8;
	const size_t used = s->len % BLOCK;
	/* FIPS 180-4, 5.1.1: pad with a one bit, zeros and the length in bits. */
	const size_t pad = (used < BLOCK - 8 ? BLOCK : 2 * BLOCK) - used;
	unsigned char last[2 * BLOCK] = { 0x80 };

	for (size_t i = 0; i < 8; i++)
		last[pad - 1 - i] = (unsigned char)(bits >> 8 * i);
	tw_sha256_add(s, last, pad);
	for (size_t i = 0; i < TW_SHA256_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x",
			 s->h[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
}

void tw_sha256_text(const void *data, size_t len, char out[TW_SHA256_TEXT])
{
	struct tw_sha256 s;

	tw_sha256_start(&s);
	tw_sha256_add(&s, data, len);
	tw_sha256_end(&s, out);
}

int tw_sha256_file(const char *path, char out[TW_SHA256_TEXT], struct tw_err *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char piece[1 << 16];
	struct tw_sha256 s;
	ssize_t n;

	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", path);
	tw_sha256_start(&s);
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		tw_sha256_add(&s, piece, (size_t)n);
	if (n < 0)
		tw_fail_errno(err, errno, "cannot read '%s'", path);
	close(fd);
	if (n < 0)
		return -1;
	tw_sha256_end(&s, out);
	return 0;
}
