/* SPDX-License-Identifier: Apache-2.0
 * srv_gen.h: generation behind a call: the fields of its body, prompts as parts, their choices as answers, and the
 * writer of its API. The front thread fills a srv_gen and submits its parts; from then on the pump alone owns the
 * answers, until the last part has ended and a front job writes the whole. `call->lock` guards what srv_gen_cancel
 * reads. */
#ifndef VC_SERVER_SRV_GEN_H
#define VC_SERVER_SRV_GEN_H

#include "num/dtype.h"
#include "server/srv_calls.h"
#include "server/srv_fields.h"
#include "server/srv_int.h"

/* ---- answers ---- */
struct srv_tool { char id[48]; char *name; struct vc_buf arguments; };
struct srv_answer {
    struct vc_buf text, reasoning;
    int32_t *ids; size_t num_ids, cap_ids; /* owned, as all arrays here */
    vc_logprob *logprobs; size_t num_logprobs, cap_logprobs; uint32_t per_token;
    float *margins; size_t num_margins, cap_margins;
    struct srv_held *held;                 /* with stream_interval: what no event has sent yet */
    uint32_t index;                        /* of the choice in the engine */
    struct srv_tool *tools; uint32_t num_tools;
    struct srv_calls calls;                /* forced tool calls */
    const char *finish_reason;             /* of the engine, static; NULL while it runs */
    char *stop_string; int32_t stop_token;
    uint64_t chars;                        /* of the text before the next token: text_offset */
    uint32_t num_tokens;
    double last_token;
    int block; uint32_t num_blocks;        /* stream of messages and responses: kind of the open block, blocks so far */
    size_t block_from;                     /* where its text begins */
    uint64_t seed;
    bool begun, failed;
};
struct srv_part {
    struct srv_call *call;
    uint32_t index;
    uint64_t id; bool submitted;           /* call->lock */
    bool is_beam;                          /* of g->search: its outputs are not the answer's */
    int32_t *ids; size_t num_ids;          /* prompt; ids from vc_tokenize or the arena */
    bool owns_ids;
    const char *text; size_t text_len;     /* prompt for echo; NULL: detokenized when needed */
    vc_logprob *prompt_logprobs; uint32_t per_prompt_token;     /* owned */
    uint32_t num_cached;
    float *embedding; uint32_t num_embedding;                  /* owned; of a model that pools */
    struct srv_answer *answers;            /* [n], in the arena */
    uint32_t open_answers;
    double submitted_at, first_token;
};

struct srv_gen;
struct srv_writer {
    const char *object, *id_prefix;
    /* Stream, call->lock held: what is new in `o` for answer a, appended to call->out. */
    void (*chunk)(struct srv_gen *g, struct srv_part *p, struct srv_answer *a, const vc_output *o);
    /* Stream, call->lock held: the end of all parts. */
    void (*end)(struct srv_gen *g);
    void (*whole)(struct srv_gen *g, struct vc_buf *b);     /* body of the answer that is not streamed */
    /* Stream, call->lock held: an error in place of the end. */
    void (*fail)(struct srv_gen *g, const vc_err *err);
    bool keep;                             /* a stream's answers are kept, too: its end shows them whole */
};

/* How vectors are written, and what of scores is needed for the answer. */
enum srv_encoding { SRV_FLOAT, SRV_BASE64, SRV_BYTES, SRV_BYTES_ONLY };
struct srv_embed {
    enum srv_encoding encoding;
    enum vc_dtype dtype;
    bool big_endian;
    const char *dtype_name, *endianness;   /* static or of the tree */
    uint32_t num_queries;                  /* parts in front of the documents */
    const json_t *documents;
    int64_t top_n;                         /* 0 or less: all */
};

extern const struct srv_writer srv_text_writer, srv_chat_writer, srv_messages_writer, srv_responses_writer;

enum srv_tool_mode { SRV_TOOLS_NONE, SRV_TOOLS_AUTO, SRV_TOOLS_REQUIRED, SRV_TOOLS_NAMED };
struct srv_gen {
    struct srv_call *call;
    const struct srv_writer *writer;
    struct vc_arena arena;
    json_t *root;
    json_t *request;                       /* the body as it came, where root is another; owned */
    struct srv_fields f;
    vc_request_params rp;
    char id[176];
    const char *prompt_name;               /* of the field that holds the prompts */
    struct srv_embed embed;
    const char *reply_type;                /* NULL: application/json */
    const char *model;                     /* as the request or the server names it */
    int64_t created;
    struct srv_part *parts; uint32_t num_parts;
    bool stream, echo, echo_only, include_usage, continuous_usage, return_token_ids, tokens_as_ids, logprobs;
    bool include_reasoning, return_text;
    bool all_logprobs;                     /* of the ids that were given */
    int32_t top_logprobs;
    struct srv_search *search;             /* with use_beam_search; in the arena */
    uint32_t num_shown;                    /* answers per prompt: n; the engine makes best_of */
    uint64_t interval;                     /* tokens per event of a stream */
    const char *role;
    enum srv_tool_mode tools; const char *tool_name; char *tools_text, *constraint_text;
    bool background, store, show_messages; /* of responses: nobody waits; it is kept; prompt and answer with their ids */
    const char *echo_message;              /* chat with echo: content of the last message */
    struct vc_buf head;                    /* of each chunk, up to the index of its choice */
    uint32_t open_parts;                   /* pump */
    uint32_t events;                       /* pump: sequence number of the next event */
    bool begun;                            /* pump: the stream or the answer has begun */
    vc_err error;                          /* pump: the first error of a part */
    bool cancelled, submitted, closed;     /* call->lock; all parts; no comment may begin the stream any more */
};

struct srv_gen *srv_gen_new(struct srv_call *c, const struct srv_writer *w);
void srv_gen_free(struct srv_gen *g);      /* NULL is allowed */
/* Ends what runs for the call; any thread. */
void srv_gen_cancel(struct srv_call *c);

/* sampling.c: from fields to g->rp, with vLLM's ranges and sentences; false: answered. */
bool srv_gen_sampling(struct srv_gen *g, enum srv_body_kind where);
/* One part for a prompt of ids; max_tokens is fitted to the context. false: answered. */
bool srv_gen_parts(struct srv_gen *g, uint32_t n);
/* All prompts of a body: a string, a list of strings, of token ids or of lists of those; NULL: none. */
bool srv_gen_prompts(struct srv_gen *g, const json_t *v);
bool srv_gen_prompt(struct srv_gen *g, uint32_t i, const char *text, size_t n, bool add_special);
bool srv_gen_prompt_ids(struct srv_gen *g, uint32_t i, int32_t *ids, size_t n, bool owns);
/* False: a prompt is longer than the context; answered. */
bool srv_gen_fits(struct srv_gen *g, int64_t *longest);
bool srv_gen_max_tokens(struct srv_gen *g);
/* Common beginnings: model name, stream options, ids. */
bool srv_gen_common(struct srv_gen *g, enum srv_body_kind where);
bool srv_gen_constraint(struct srv_gen *g);
/* False: no model has the name; a 404 was answered. NULL is known. */
bool srv_model_known(struct srv_call *c, const char *name);
/* Submits all parts. Errors are answered. */
void srv_gen_submit(struct srv_gen *g);

/* pump.c → here: one output. */
void srv_gen_output(struct srv_part *p, const vc_output *o);
/* Front job: writes the whole answer. */
void srv_gen_finish(struct srv_call *c);

/* interval.c: the output to send for `o`, itself or put together in *joined; NULL: not yet. */
const vc_output *srv_hold(struct srv_gen *g, struct srv_answer *a, const vc_output *o, vc_output *joined);
/* beam.c: a search in place of requests that sample. check: false: answered. start: false: no memory. */
bool srv_beam_check(struct srv_gen *g);
bool srv_beam_start(struct srv_gen *g);
void srv_beam_output(struct srv_part *item, const vc_output *o);
void srv_beam_cancel(struct srv_gen *g);
void srv_beam_free(struct srv_gen *g);
void srv_held_free(struct srv_held *h);    /* NULL is allowed */

/* ---- pieces of answers ---- */
const char *srv_fingerprint(const struct srv_gen *g);                /* NULL: none */
/* ,"system_fingerprint":"…" of a chunk, or nothing */
void srv_add_fingerprint(const struct srv_gen *g, struct vc_buf *b);
void srv_random_hex(char *dst, size_t bytes);      /* 2 * bytes digits and a NUL */
/* Text of one token as vLLM shows it: decoded alone, or "token_id:N". */
void srv_token_text(const struct srv_gen *g, int32_t id, struct vc_buf *out);
uint64_t srv_count_chars(const char *s, size_t n);
void srv_jo_stop_reason(struct vc_json_out *w, const char *stop_string, int32_t stop_token);
void srv_jo_ids(struct vc_json_out *w, const int32_t *ids, size_t n);
/* What the completion and chat streams share: members of a chunk, the last events, an error as the last event. */
void srv_add_usage(struct srv_gen *g, struct vc_buf *b, uint64_t prompt, uint64_t completion, uint64_t cached);
void srv_add_ids(struct vc_buf *b, const int32_t *ids, size_t n);
void srv_jo_margins(struct vc_json_out *w, const float *v, size_t n);      /* an array; infinity is null */
/* ,"margins":[…] of an output, if the request asks for them */
void srv_add_margins(const struct srv_gen *g, struct vc_buf *b, const vc_output *o);
void srv_stream_end(struct srv_gen *g);
void srv_stream_fail(struct srv_gen *g, const vc_err *err);
void srv_jo_null(struct vc_json_out *w, const char *key);
void srv_jo_usage(struct vc_json_out *w, const struct srv_gen *g, uint64_t prompt, uint64_t completion, uint64_t cached,
                  bool details);
void srv_jo_prompt_logprobs(struct vc_json_out *w, const struct srv_gen *g, const struct srv_part *p);
/* Completions' four arrays: of the prompt (with echo), then of tokens. *chars: characters before, moved on. */
void srv_jo_text_logprobs(struct vc_json_out *w, const struct srv_gen *g, const struct srv_part *prompt,
                          const vc_logprob *v, size_t tokens, uint32_t per, uint64_t *chars);
void srv_jo_chat_logprobs(struct vc_json_out *w, const struct srv_gen *g, const vc_logprob *v, size_t tokens,
                          uint32_t per);
void srv_gen_totals(const struct srv_gen *g, uint64_t *prompt, uint64_t *completion, uint64_t *cached);

#endif
