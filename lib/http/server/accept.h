/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ACCEPT_H
#define TW_ACCEPT_H

/*
 * Content negotiation by the headers Accept and Accept-Encoding (RFC 9110, section 12.5).
 * The headers are untrusted: malformed elements are ignored.
 */

/*
 * The weight q of type/subtype, 0 to 1: that of the most specific media range that
 * matches it; 0 if none matches; 1 without a header (accept NULL). A media range with
 * another "version" parameter does not match; version NULL: versions are not compared.
 */
double tw_accept_weight(const char *accept, const char *type, const char *subtype,
			const char *version);

/* The weight of a coding in an Accept-Encoding header; 0 without a header (NULL). */
double tw_accept_coding(const char *accept, const char *coding);

#endif /* TW_ACCEPT_H */
