/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ACCEPT_H
#define TW_ACCEPT_H

/*
 * What a client takes, by its Accept and Accept-Encoding headers (RFC 9110, section
 * 12.5). Headers are foreign: what is malformed in them is passed over.
 */

/*
 * How much an Accept header likes type/subtype, 0 to 1: the q of the most specific range
 * that it is in, 0 if it is in none, 1 if there is no header. A range with a parameter
 * "version" that is another does not count; NULL: versions do not matter.
 */
double tw_accept_weight(const char *accept, const char *type, const char *subtype,
			const char *version);

/* How much an Accept-Encoding header (NULL: none, 0) likes a coding. "*" is any. */
double tw_accept_coding(const char *accept, const char *coding);

#endif /* TW_ACCEPT_H */
