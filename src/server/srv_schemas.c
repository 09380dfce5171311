/* SPDX-License-Identifier: Apache-2.0
 * srv_schemas.c: JSON Schemas of request bodies (fields.def) and answers (answers.def). */
#include "server/srv_openapi.h"

#include <stdio.h>
#include <string.h>

const struct srv_answer_row srv_answer_rows[SRV_NUM_ANSWERS] = {
#define ANSWER(id, name, type, also) { name, type, also },
#define MEMBER(owner, name, kind, of, flags)
#include "server/answers.def"
#undef ANSWER
#undef MEMBER
};

enum shape { STR, INT, NUM, BOOL, OBJ, LIST, STRS, INTS, NUMS, ANY };
enum { NULLS = 1, MAYBE = 2 };
static const struct member {
    enum srv_answer_id owner;
    const char *name;
    enum shape kind;
    enum srv_answer_id of;
    unsigned flags;
} members[] = {
#define ANSWER(id, name, type, also)
#define MEMBER(owner, name, kind, of, flags) { SRV_ANSWER_##owner, name, kind, SRV_ANSWER_##of, flags },
#include "server/answers.def"
#undef ANSWER
#undef MEMBER
};

const struct srv_body_row srv_body_rows[] = {
    { SRV_BODY_TEXT, "CompletionRequest", "completions" },
    { SRV_BODY_CHAT, "ChatRequest", "chat" },
    { SRV_BODY_RESPONSES, "ResponseRequest", "responses" },
    { SRV_BODY_MESSAGES, "MessageRequest", "messages" },
    { SRV_BODY_COUNT, "CountRequest", "count_tokens" },
    { SRV_BODY_TOK_TEXT, "TokenizeRequest", "tokenize" },
    { SRV_BODY_TOK_CHAT, "TokenizeChatRequest", "tokenize (conversation)" },
    { SRV_BODY_DETOK, "DetokenizeRequest", "detokenize" },
    { SRV_BODY_EMBED, "EmbeddingRequest", "embeddings" },
    { SRV_BODY_EMBED_CHAT, "EmbeddingChatRequest", "embeddings (conversation)" },
    { SRV_BODY_POOLING, "PoolingRequest", "pooling" },
    { SRV_BODY_POOLING_CHAT, "PoolingChatRequest", "pooling (conversation)" },
    { SRV_BODY_SCORE, "ScoreRequest", "score" },
    { SRV_BODY_RERANK, "RerankRequest", "rerank" },
};
const size_t srv_num_body_rows = VC_ARRAY_LEN(srv_body_rows);

static void key_str(struct vc_json_out *w, const char *key, const char *v) {
    vc_jo_key(w, key);
    vc_jo_str(w, v);
}

void srv_jo_ref(struct vc_json_out *w, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "#/components/schemas/%s", name);
    vc_jo_begin_obj(w);
    key_str(w, "$ref", path);
    vc_jo_end_obj(w);
}

/* "type": name, or [name, "null"] */
static void type(struct vc_json_out *w, const char *name, bool nulls) {
    vc_jo_key(w, "type");
    if (nulls) vc_jo_begin_arr(w);
    vc_jo_str(w, name);
    if (nulls) {
        vc_jo_str(w, "null");
        vc_jo_end_arr(w);
    }
}

static void items(struct vc_json_out *w, const char *name, bool nulls) {
    vc_jo_key(w, "items");
    vc_jo_begin_obj(w);
    type(w, name, nulls);
    vc_jo_end_obj(w);
}

/* ---- request bodies ---- */

static void range(struct vc_json_out *w, const struct srv_field *f) {
    if (f->min != INT64_MIN) {
        vc_jo_key(w, f->flags & SRV_ABOVE ? "exclusiveMinimum" : "minimum");
        vc_jo_int(w, f->min);
    }
    if (f->max == INT64_MAX && f->kind == SRV_NUM) return;
    if (f->max != INT64_MAX || f->min == INT64_MIN) {
        vc_jo_key(w, "maximum");
        vc_jo_int(w, f->max);
    }
}

static void words(struct vc_json_out *w, const struct srv_field *f) {
    vc_jo_key(w, "enum");
    vc_jo_begin_arr(w);
    for (const char *const *s = srv_field_words[f->min]; *s; s++) vc_jo_str(w, *s);
    if (f->flags & SRV_NULLS) vc_jo_null(w);
    vc_jo_end_arr(w);
}

static void int_items(struct vc_json_out *w, const struct srv_field *f) {
    vc_jo_key(w, "items");
    vc_jo_begin_obj(w);
    type(w, "integer", false);
    range(w, f);
    vc_jo_end_obj(w);
}

/* A text, a list of texts, perhaps null. */
static void texts(struct vc_json_out *w, bool nulls) {
    vc_jo_key(w, "type");
    vc_jo_begin_arr(w);
    vc_jo_str(w, "string");
    vc_jo_str(w, "array");
    if (nulls) vc_jo_str(w, "null");
    vc_jo_end_arr(w);
    items(w, "string", false);
}

static void field(struct vc_json_out *w, const struct srv_field *f) {
    static const char *const types[] = {
        [SRV_NUM] = "number", [SRV_INT] = "integer", [SRV_BOOL] = "boolean", [SRV_STR] = "string",
        [SRV_INTS] = "array", [SRV_LIST] = "array",  [SRV_OBJ] = "object",   [SRV_REFUSE] = NULL
    };
    bool nulls = (f->flags & SRV_NULLS) != 0;
    char text[400];
    vc_jo_key(w, f->name);
    vc_jo_begin_obj(w);
    snprintf(text, sizeof text, "%s%s", f->kind == SRV_REFUSE ? "refused: " : "", f->text);
    key_str(w, "description", text);
    if (types[f->kind]) type(w, types[f->kind], nulls);
    switch (f->kind) {
        case SRV_NUM:
        case SRV_INT: range(w, f); break;
        case SRV_WORD: words(w, f); break;
        case SRV_INTS: int_items(w, f); break;
        case SRV_STRS: texts(w, nulls); break;
        case SRV_LIST: items(w, "object", false); break;
        case SRV_REFUSE:
            vc_jo_key(w, "enum");
            vc_jo_raw(w, "[null, false, 0, \"\", [], {}]", 28);
            break;
        case SRV_BOOL:
        case SRV_STR:
        case SRV_OBJ:
        case SRV_ANY: break;
    }
    vc_jo_end_obj(w);
}

static void body(struct vc_json_out *w, const struct srv_body_row *row) {
    vc_jo_key(w, row->name);
    vc_jo_begin_obj(w);
    type(w, "object", false);
    vc_jo_key(w, "properties");
    vc_jo_begin_obj(w);
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++)
        if (srv_field_rows[i].bodies & row->bit) field(w, &srv_field_rows[i]);
    vc_jo_end_obj(w);
    vc_jo_key(w, "required");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++)
        if ((srv_field_rows[i].bodies & row->bit) && (srv_field_rows[i].flags & SRV_NEEDED))
            vc_jo_str(w, srv_field_rows[i].name);
    vc_jo_end_arr(w);
    vc_jo_end_obj(w);
}

/* ---- answers ---- */

static void member(struct vc_json_out *w, const struct member *m) {
    static const char *const types[] = {
        [STR] = "string", [INT] = "integer", [NUM] = "number", [BOOL] = "boolean", [OBJ] = "object",
        [LIST] = "array", [STRS] = "array",  [INTS] = "array", [NUMS] = "array",   [ANY] = NULL
    };
    bool nulls = (m->flags & NULLS) != 0, refers = m->of != SRV_ANSWER_NONE;
    vc_jo_key(w, m->name);
    if (m->kind == OBJ && refers && !nulls) {
        srv_jo_ref(w, srv_answer_rows[m->of].name);
        return;
    }
    vc_jo_begin_obj(w);
    if (m->kind == OBJ && refers) {
        vc_jo_key(w, "anyOf");
        vc_jo_begin_arr(w);
        srv_jo_ref(w, srv_answer_rows[m->of].name);
        vc_jo_raw(w, "{\"type\": \"null\"}", 16);
        vc_jo_end_arr(w);
    } else if (types[m->kind]) {
        type(w, types[m->kind], nulls);
    }
    if (m->kind == LIST && refers) {
        vc_jo_key(w, "items");
        srv_jo_ref(w, srv_answer_rows[m->of].name);
    }
    if (m->kind == STRS) items(w, "string", false);
    if (m->kind == INTS) items(w, "integer", false);
    if (m->kind == NUMS) items(w, "number", true);
    vc_jo_end_obj(w);
}

static void answer(struct vc_json_out *w, enum srv_answer_id id) {
    vc_jo_key(w, srv_answer_rows[id].name);
    vc_jo_begin_obj(w);
    type(w, "object", false);
    vc_jo_key(w, "properties");
    vc_jo_begin_obj(w);
    for (size_t i = 0; i < VC_ARRAY_LEN(members); i++)
        if (members[i].owner == id) member(w, &members[i]);
    vc_jo_end_obj(w);
    vc_jo_key(w, "required");
    vc_jo_begin_arr(w);
    for (size_t i = 0; i < VC_ARRAY_LEN(members); i++)
        if (members[i].owner == id && !(members[i].flags & MAYBE)) vc_jo_str(w, members[i].name);
    vc_jo_end_arr(w);
    vc_jo_end_obj(w);
}

void srv_jo_schemas(struct vc_json_out *w) {
    vc_jo_begin_obj(w);
    for (size_t i = 0; i < srv_num_body_rows; i++) body(w, &srv_body_rows[i]);
    for (size_t i = 0; i < SRV_NUM_ANSWERS; i++)
        if (srv_answer_rows[i].name[0]) answer(w, (enum srv_answer_id)i);
    vc_jo_end_obj(w);
}
