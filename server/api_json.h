/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_API_JSON_H
#define TW_SERVER_API_JSON_H

/* Models, node types and pipelines as JSON, for /api/v1 (docs/tw-server.md, "Routes"). */

struct tw_buf;
struct tw_index;
struct tw_index_entry;
struct tw_index_machine;
struct tw_index_pipeline;

/* Members of an object, without its braces. */
void tw_api_add_model(struct tw_buf *b, const struct tw_index_entry *e);
void tw_api_add_node_type(struct tw_buf *b, const struct tw_index_machine *m);
void tw_api_add_pipeline(struct tw_buf *b, const struct tw_index *x,
			 const struct tw_index_pipeline *p);

#endif /* TW_SERVER_API_JSON_H */
