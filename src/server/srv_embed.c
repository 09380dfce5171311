/* SPDX-License-Identifier: Apache-2.0
 * srv_embed.c: POST /v1/embeddings and /pooling: prompts or a conversation to vectors. Their answers:
 * srv_embed_writer.c. */
#include <string.h>

#include "server/srv_chat.h"
#include "server/srv_embed.h"

struct srv_gen *srv_embed_begin(struct srv_call *c, enum srv_body_kind where, enum srv_body_kind chat,
                                const struct srv_writer *w) {
    json_t *root;
    if (!srv_body(c, &root)) return NULL;
    if (chat && json_object_get(root, "messages") && !json_object_get(root, "input")) where = chat;
    struct srv_gen *g = srv_gen_new(c, w);
    if (!g) {
        json_decref(root);
        return NULL;
    }
    g->root = root;
    g->prompt_name = "input";
    if (!srv_fields_read(c, where, root, &g->f) || !srv_gen_common(g, where)) return NULL;
    if (g->f.v[SRV_F_NORMALIZE].given) {
        (void)srv_refuse_field(c, "normalize", "Parameter `normalize` was removed; use `use_activation` instead.");
        return NULL;
    }
    if (g->f.v[SRV_F_PADDING].given && strcmp(g->f.v[SRV_F_PADDING].s, "do_not_pad") != 0) {
        (void)srv_refuse_field(c, "padding", "padding to max_length is not supported: vectors do not depend on it.");
        return NULL;
    }
    return g;
}

static bool is_big_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* encoding_format, embed_dtype, endianness. */
static void read_encoding(struct srv_gen *g) {
    static const char *const words[] = {
        [SRV_FLOAT] = "float", [SRV_BASE64] = "base64", [SRV_BYTES] = "bytes", [SRV_BYTES_ONLY] = "bytes_only"
    };
    static const struct { const char *word; enum vc_dtype dtype; } dtypes[] = {
        { "float32", VC_F32 },     { "float16", VC_F16 },     { "bfloat16", VC_BF16 },
        { "fp8_e4m3", VC_F8E4M3 }, { "fp8_e5m2", VC_F8E5M2 },
    };
    const struct srv_value *v = g->f.v;
    struct srv_embed *e = &g->embed;
    for (size_t i = 0; i < VC_ARRAY_LEN(words); i++)
        if (v[SRV_F_ENCODING_FORMAT].given && !strcmp(v[SRV_F_ENCODING_FORMAT].s, words[i]))
            e->encoding = (enum srv_encoding)i;
    e->dtype = VC_F32;
    e->dtype_name = v[SRV_F_EMBED_DTYPE].given ? v[SRV_F_EMBED_DTYPE].s : "float32";
    for (size_t i = 0; i < VC_ARRAY_LEN(dtypes); i++)
        if (!strcmp(e->dtype_name, dtypes[i].word)) e->dtype = dtypes[i].dtype;
    e->endianness = v[SRV_F_ENDIANNESS].given ? v[SRV_F_ENDIANNESS].s : "native";
    e->big_endian = e->endianness[0] == 'b' || (e->endianness[0] == 'n' && is_big_endian());
}

static bool read_options(struct srv_gen *g) {
    const struct srv_value *v = g->f.v, *d = &v[SRV_F_DIMENSIONS], *salt = &v[SRV_F_CACHE_SALT],
                           *priority = &v[SRV_F_PRIORITY];
    if (d->given && d->i < 1) return srv_refuse(g->call, NULL, "Dimensions must be greater than 0");
    if (salt->given && !salt->s[0])
        return srv_refuse(g->call, "cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.");
    if (priority->given && priority->i < INT32_MIN)
        return srv_refuse_field(g->call, "priority", "priority must be at least -2147483648.");
    g->rp.dimensions = d->given ? (uint32_t)VC_MIN(d->i, (int64_t)INT32_MAX) : 0;
    g->rp.use_activation = v[SRV_F_USE_ACTIVATION].given ? v[SRV_F_USE_ACTIVATION].b : -1;
    g->rp.cache_salt = salt->given ? salt->s : NULL;
    g->rp.priority = priority->given ? (int32_t)VC_MIN(priority->i, (int64_t)INT32_MAX) : 0;
    g->rp.sampling.detokenize = 0;
    read_encoding(g);
    return true;
}

void srv_embed_submit(struct srv_gen *g) {
    int64_t longest;
    for (uint32_t i = 0; i < g->num_parts; i++)
        if (g->parts[i].num_ids == 0) {                   /* truncate_prompt_tokens 0 */
            (void)srv_refuse(g->call, g->prompt_name, "The prompt has no tokens.");
            return;
        }
    if (srv_gen_fits(g, &longest) && read_options(g)) srv_gen_submit(g);
}

/* A conversation without the beginning of an answer, unless it is asked for. */
static bool conversation(struct srv_gen *g) {
    struct srv_value *f = g->f.v;
    char *text = NULL, *kept;
    size_t n = 0;
    if (!f[SRV_F_ADD_GENERATION_PROMPT].given) f[SRV_F_ADD_GENERATION_PROMPT] = (struct srv_value){ .given = true };
    if (!srv_chat_checked(g->call, f) || !srv_chat_text(g->call, f, false, &text, &n)) return false;
    kept = vc_arena_strndup(&g->arena, text, n);
    vc_free(text);
    if (!kept) return srv_refuse(g->call, NULL, "out of memory");
    return srv_gen_parts(g, 1) && srv_gen_prompt(g, 0, kept, n, f[SRV_F_ADD_SPECIAL_TOKENS].b);
}

static bool read_prompts(struct srv_gen *g) {
    return g->f.v[SRV_F_MESSAGES].given ? conversation(g) : srv_gen_prompts(g, g->f.v[SRV_F_EMBED_INPUT].json);
}

void srv_post_embeddings(struct srv_call *c) {
    struct srv_gen *g = srv_embed_begin(c, SRV_BODY_EMBED, SRV_BODY_EMBED_CHAT, &srv_embed_writer);
    if (g && read_prompts(g)) srv_embed_submit(g);
}

void srv_post_pooling(struct srv_call *c) {
    struct srv_gen *g = srv_embed_begin(c, SRV_BODY_POOLING, SRV_BODY_POOLING_CHAT, &srv_pooling_writer);
    if (!g) return;
    const struct srv_value *task = &g->f.v[SRV_F_TASK];
    char shown[64];
    if (g->f.v[SRV_F_DIMENSIONS].given) (void)srv_refuse(c, NULL, "dimensions is currently not supported");
    else if (task->given && strcmp(task->s, "embed") != 0)
        srv_error(c, 400, NULL, "task", "Unsupported task: '%s' Supported tasks: ('embed',)",
                  vc_printable(shown, sizeof shown, task->s, strlen(task->s)));
    else if (read_prompts(g)) srv_embed_submit(g);
}
