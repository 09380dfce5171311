/* SPDX-License-Identifier: Apache-2.0
 * srv_fields.h: the fields of request bodies: the table of fields.def, and their values as read from a body. */
#ifndef VC_SERVER_SRV_FIELDS_H
#define VC_SERVER_SRV_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct srv_call;

/* Which bodies have a field: bits. */
enum srv_body_kind {
    SRV_BODY_TEXT = 1, SRV_BODY_CHAT = 2, SRV_BODY_TOK_TEXT = 4, SRV_BODY_TOK_CHAT = 8, SRV_BODY_DETOK = 16,
    SRV_BODY_RESPONSES = 32, SRV_BODY_MESSAGES = 64, SRV_BODY_COUNT = 128,
    SRV_BODY_EMBED = 256, SRV_BODY_EMBED_CHAT = 512, SRV_BODY_POOLING = 1024, SRV_BODY_POOLING_CHAT = 2048,
    SRV_BODY_SCORE = 4096, SRV_BODY_RERANK = 8192
};
enum srv_kind {
    SRV_NUM, SRV_INT, SRV_BOOL, SRV_STR, SRV_WORD, SRV_INTS, SRV_STRS, SRV_LIST, SRV_OBJ, SRV_ANY, SRV_REFUSE
};
enum { SRV_NULLS = 1, SRV_NEEDED = 2, SRV_LATER = 4, SRV_ABOVE = 8 };
enum srv_words { SRV_WORDS_SIDE, SRV_WORDS_TRUNCATION, SRV_WORDS_EFFORT, SRV_WORDS_TIER, SRV_WORDS_PAYLOAD,
                 SRV_WORDS_ENCODING, SRV_WORDS_EMBED_DTYPE, SRV_WORDS_ENDIAN, SRV_WORDS_PADS, SRV_NUM_WORDS };
enum srv_field_id {
#define SRV_FIELD(id, name, bodies, kind, flags, min, max, text) SRV_F_##id,
#include "server/fields.def"
#undef SRV_FIELD
    SRV_NUM_FIELDS
};
struct srv_field {
    const char *name;
    unsigned bodies;
    enum srv_kind kind;
    unsigned flags;
    int64_t min, max;
    const char *text;
};
extern const struct srv_field srv_field_rows[SRV_NUM_FIELDS];
/* The words of a SRV_WORD field, ended by NULL; its row's min says which list. */
extern const char *const *const srv_field_words[SRV_NUM_WORDS];
const char *srv_field_name(enum srv_field_id id);

/* Values as read; json borrows from the tree. A field without a value keeps its caller's default and given is false. */
struct srv_value { bool given; int64_t i; double f; bool b; const char *s; json_t *json; };
struct srv_fields { struct srv_value v[SRV_NUM_FIELDS]; };
/* Reads what is there for `where`; false: a 400 that names all faults was answered. Fields that the table does not know
 * are listed in a debug line. */
bool srv_fields_read(struct srv_call *c, enum srv_body_kind where, const json_t *root, struct srv_fields *f);
/* The same for a body that becomes another one: its values are not wanted. */
bool srv_fields_check(struct srv_call *c, enum srv_body_kind where, const json_t *root);
/* "true", "off" and the other words for them; false: another one. */
bool srv_word_bool(const char *s, bool *out);
/* Input of a value as vLLM's validation errors show it. */
const char *srv_py_type(const json_t *v, char *dst, size_t cap);

#endif
