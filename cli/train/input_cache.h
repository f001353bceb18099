/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_INPUT_CACHE_H
#define TW_CLI_INPUT_CACHE_H

/*
 * Inputs that are read over HTTP: "https://store/rack7.json#sha256=<digest>". A download
 * is kept in a directory under its digest, and a download that broke off is resumed by a
 * range request, by a later run, too. Several processes may use the directory.
 */

struct tw_credentials_config;
struct tw_err;
struct tw_strs;

struct tw_input_cache {
	const char *dir;                         /* NULL: $XDG_CACHE_HOME/tallywatt */
	const struct tw_credentials_config *web; /* of the server */
};

/*
 * The local path of a file or a URL; *path is yours (free()). sha256: the expected
 * digest; NULL: the URL's fragment has it, or the file is not checked. The function sets
 * digest unless it is NULL. TW_INVALID if the digest differs. A path is not copied.
 */
int tw_input_cache_get(const struct tw_input_cache *c, const char *file,
		       const char *sha256, char **path, char *digest, struct tw_err *err);

/* The file name of a path or a URL, without query and fragment; *len bytes of it. */
const char *tw_input_base_name(const char *file, int *len);

/*
 * Replace each query that has a chunk by the queries of its chunks. A query is an input
 * from a Prometheus server:
 *
 *	prometheus+http://host:9090/?match=instance="a"&start=T&end=T&step=3s&chunk=6h
 *
 * match may be repeated. Values may have %XX. Adjacent chunks share a sample, so that no
 * rate is lost.
 */
int tw_input_query_chunk(struct tw_strs *inputs, struct tw_err *err);

#endif /* TW_CLI_INPUT_CACHE_H */
