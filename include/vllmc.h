/* SPDX-License-Identifier: Apache-2.0
 *
 * vllmc.h: the whole public API of libvllmc.
 *
 * A vc_model is an opened model with its engine: paged KV cache, continuous batching, prefix cache. Requests are
 * submitted as token ids or text and their results are read as outputs, in the order in which tokens were made.
 * Either the caller drives the engine with vc_step(), or vc_start() lets a thread of the library do it.
 *
 *     vc_model_params mp;  vc_model_params_init(&mp);  mp.path = "model.gguf";
 *     vc_model *m = NULL;  vc_err err = VC_ERR_INIT;
 *     if (vc_model_open(&m, &mp, &err)) { fprintf(stderr, "%s\n", err.text); return 1; }
 *     vc_request_params rp; vc_request_params_init(&rp);  rp.prompt = "Hello";
 *     uint64_t id;  vc_submit(m, &rp, &id, &err);
 *     for (vc_output *o; !vc_next(m, -1, &o, &err); vc_output_free(o)) { fputs(o->text, stdout); if (o->finished) break; }
 *     vc_model_close(&m);
 *
 * ABI: every struct that the caller fills begins with struct_size, set by its _init function; fields are only ever
 * appended. Thread rule: all functions of one vc_model may be called from any thread, except that vc_model_close
 * must be the last call. No function exits, aborts or prints, except through the log callback.
 * Strings are UTF-8 and NUL-terminated unless a length is given beside them.
 */
#ifndef VLLMC_H
#define VLLMC_H

#include <stddef.h>
#include <stdint.h>

#include "vllmc_base.h"      /* version, status codes, vc_err, log */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- model ---------------------------------------------------------------------------------------------------- */
typedef struct vc_model vc_model;

/* vLLM's engine arguments, by vLLM's names. Strings may be NULL = default. */
typedef struct vc_model_params {
    size_t struct_size;
    const char *path;                    /* GGUF file (first of a split), Hugging Face folder, or .safetensors beside a config.json */
    const char *tokenizer;               /* other source of the vocabulary and chat template: GGUF, folder or tokenizer.json */
    const char *chat_template;           /* template text or path, instead of the model's own */
    const char *dtype;                   /* "auto", "bfloat16", "float16", "float32": weights are cast at load */
    const char *numerics;                /* "auto" or profile[,slot=format…], e.g. "vllm,norm.pregamma=f32" */
    const char *kv_cache_dtype;          /* "auto", "bfloat16", "float16", "float32" */
    const char *generation_config;       /* "auto" (the model's), "vllm" (none), or a folder */
    uint32_t max_model_len;              /* 0: the model's own */
    uint32_t max_num_seqs;               /* 256 */
    uint32_t max_num_batched_tokens;     /* 2048 */
    uint32_t block_size;                 /* tokens of a KV page, a multiple of 16; 16 */
    uint32_t threads;                    /* 0: as many as affinity mask and cgroup allow */
    uint64_t kv_cache_memory_bytes;      /* 0: sized from free memory */
    uint64_t seed;
    int enable_prefix_caching;           /* 1 */
    int no_fuse;                         /* 1: run every op line on its own kernel */
    int strict_kernels;                  /* 1: refuse a contract that only the slow reference covers */
    int priority;                        /* scheduling policy: 0 fcfs, 1 priority */
    void (*progress)(double fraction, const char *what, void *arg);  /* called while loading, may be NULL */
    void *progress_arg;
    /* Called around each step of the thread of vc_start (begins 1, then 0), which waits while it runs. NULL: nothing. Models of
     * one process share one set of threads and need no turns of the caller's making. */
    void (*turn)(int begins, void *arg);
    void *turn_arg;
    const char *runner;                  /* "auto", "generate" text, or "pooling": embeddings of prompts */
    const char *convert;                 /* "auto", "none", or "embed": a model that was made to generate pools */
    const char *pooler_config;           /* JSON object: pooling_type "LAST", "CLS" or "MEAN", use_activation, dimensions, max_embed_len */
    int enable_chunked_prefill;          /* 1; 0: a prompt is computed in one step, max_num_batched_tokens >= max_model_len */
    uint32_t long_prefill_token_threshold;   /* largest part of a prompt in one step while others are there; 0: none */
    uint32_t max_num_scheduled_tokens;   /* tokens that a step really gets, at most max_num_batched_tokens; 0: that */
    int reserve_full_isl;                /* 1: a request begins only if its whole prompt fits the free cache */
    float watermark;                     /* share of the cache kept free when a request begins beside others; 0, below 1 */
    float memory_utilization;            /* share of the memory for weights, workspace and cache, in (0, 1]; 0: 85 % of what is free for the cache */
    uint32_t num_kv_blocks;              /* pages of the cache, instead of a size in bytes; 0: none */
    const char *prefix_caching_hash_algo;    /* "sha256_cbor" (default; "sha256" is the same), "xxhash_cbor" ("xxhash") */
    int skip_tokenizer_init;             /* 1: no tokenizer, no template: token ids in and out */
    int32_t max_logprobs;                /* most log-probabilities of a token that a request may ask for; 20; -1: the vocabulary */
    const char *override_generation_config;  /* JSON object over the model's generation_config.json: temperature, top_p … */
    /* Processors that the computing threads are bound to: "0-3,6", "auto" (all that may be used, one of each core first),
     * "none" (default). The thread that steps is bound during its step. Two models of a process are bound to the same or
     * to none in common. */
    const char *cpu_bind;
} vc_model_params;

typedef struct vc_model_info {
    size_t struct_size;
    const char *name, *architecture, *format, *quantization, *numerics, *kv_cache_dtype, *chat_template;  /* owned by the model */
    uint64_t parameters, weight_bytes, kv_bytes, kv_tokens, workspace_bytes;
    uint32_t max_model_len, vocab_size, num_layers, hidden_size, block_size, num_kv_blocks, threads;
    int32_t bos_token_id;                /* -1: none */
    const int32_t *eos_token_ids;
    uint32_t num_eos_token_ids;
    const char *pooling;                 /* "LAST", "CLS", "MEAN": requests give embeddings; NULL: they give text */
} vc_model_info;

VC_API void vc_model_params_init(vc_model_params *p);
VC_API vc_status vc_model_open(vc_model **out, const vc_model_params *p, vc_err *err);
VC_API void vc_model_close(vc_model **m);   /* cancels what runs; sets *m to NULL */
VC_API vc_status vc_model_get_info(const vc_model *m, vc_model_info *info);

/* ---- text ----------------------------------------------------------------------------------------------------- */
enum {
    VC_TOK_ADD_SPECIAL = 1,              /* BOS and EOS as the model's metadata asks */
    VC_TOK_PARSE_SPECIAL = 2,            /* text such as <|im_end|> becomes its control token */
    VC_DETOK_SKIP_SPECIAL = 4
};
/* *ids is malloc'd and becomes the caller's (vc_free). */
VC_API vc_status vc_tokenize(const vc_model *m, const char *text, size_t len, int flags, int32_t **ids, size_t *n, vc_err *err);
/* Bytes of the longest beginning of text in *kept that is left when it is cut behind max tokens (special ones parsed, none
 * added), again while it has more: a shorter text may have other tokens. As vLLM's truncate_text_to_tokens. */
VC_API vc_status vc_tokenize_cut(const vc_model *m, const char *text, size_t len, size_t max, size_t *kept, vc_err *err);
/* The tokenizer as a JSON object in the form of Hugging Face's tokenizer_config.json; *json is malloc'd, NUL-terminated, and
 * becomes the caller's (vc_free). */
VC_API vc_status vc_tokenizer_info(const vc_model *m, char **json, vc_err *err);
/* *text is malloc'd, NUL-terminated, and becomes the caller's (vc_free). */
VC_API vc_status vc_detokenize(const vc_model *m, const int32_t *ids, size_t n, int flags, char **text, size_t *len, vc_err *err);
/* A token as the vocabulary spells it ("Ġthe"); borrowed from the model. VC_E_NOT_FOUND: no such token. */
VC_API vc_status vc_token_text(const vc_model *m, int32_t id, const char **text, size_t *len);
/* A conversation for the model's chat template. JSON texts are NUL-terminated; NULL: not given. */
typedef struct vc_chat_params {
    size_t struct_size;
    const char *messages_json;           /* array, as OpenAI's `messages` */
    const char *tools_json;              /* array, as OpenAI's `tools` */
    const char *documents_json;          /* array of objects for templates that read them */
    const char *kwargs_json;             /* object: further variables of the template, e.g. {"enable_thinking":false} */
    const char *chat_template;           /* text of another template than the model's */
    const char *content_format;          /* "auto" (found in the template), "string", "openai" (parts) */
    int add_generation_prompt;           /* 1 */
    int continue_final_message;          /* 0; 1: the text ends inside the last message */
} vc_chat_params;
VC_API void vc_chat_params_init(vc_chat_params *p);
/* *text is malloc'd, NUL-terminated, and becomes the caller's (vc_free). An error in a field names its path. */
VC_API vc_status vc_chat_render(const vc_model *m, const vc_chat_params *p, char **text, size_t *len, vc_err *err);
VC_API void vc_free(void *p);

/* ---- requests ------------------------------------------------------------------------------------------------- */
typedef struct vc_logit_bias { int32_t token; float bias; } vc_logit_bias;
typedef struct vc_token_list { const int32_t *ids; size_t n; } vc_token_list;

/* vLLM's SamplingParams: names, ranges and defaults. The _init function sets these defaults;
 * vc_sampling_from_model overwrites them with the model's generation_config.json. */
typedef struct vc_sampling_params {
    size_t struct_size;
    uint32_t n;                          /* 1 */
    float temperature;                   /* 1.0; below 1e-5 greedy */
    float top_p;                         /* 1.0, in (0, 1] */
    int32_t top_k;                       /* 0 or -1: off */
    float min_p;                         /* 0 */
    float presence_penalty, frequency_penalty;   /* 0, in [-2, 2] */
    float repetition_penalty;            /* 1, > 0 */
    uint64_t seed;  int has_seed;        /* choice i of n uses seed + i */
    uint32_t max_tokens;                 /* 0: up to the context's end */
    uint32_t min_tokens;                 /* 0 */
    int ignore_eos;
    const char *const *stop; size_t num_stop;            /* stop strings */
    const int32_t *stop_token_ids; size_t num_stop_token_ids;
    int include_stop_str_in_output;
    const vc_token_list *bad_words; size_t num_bad_words;
    const int32_t *allowed_token_ids; size_t num_allowed_token_ids;
    const vc_logit_bias *logit_bias; size_t num_logit_bias;
    int32_t logprobs;                    /* -1: none; k: the k best beside the chosen token */
    int32_t prompt_logprobs;             /* -1: none */
    int skip_special_tokens;             /* 1 */
    int detokenize;                      /* 1 */
    /* With logprobs >= 0: these ids beside the chosen token, in this order, in place of the best; at most 128. */
    const int32_t *logprob_token_ids; size_t num_logprob_token_ids;
    int return_margin;                   /* 0; 1: the tie margin of each token, vc_output.margins */
    /* Ends a choice (finish_reason "repetition") as soon as its last tokens are one pattern of repetition_min_pattern (0 is 1) to
     * repetition_max_pattern tokens, repetition_min_count (2 or more) times. Longest pattern 0: off. */
    uint32_t repetition_max_pattern, repetition_min_pattern, repetition_min_count;
} vc_sampling_params;

typedef struct vc_request_params {
    size_t struct_size;
    const char *prompt; size_t prompt_len;               /* text; prompt_len 0: strlen */
    const int32_t *prompt_ids; size_t num_prompt_ids;    /* or token ids, which win */
    int tokenize_flags;                                  /* VC_TOK_ADD_SPECIAL */
    int32_t priority;                                    /* lower is sooner */
    const char *cache_salt;                              /* separates prefix caches */
    vc_sampling_params sampling;
    void *user;                                          /* returned in every output */
    /* What the answer must follow: "json_schema", "json_object", "regex", "choice" (JSON array of strings), "grammar"
     * (GBNF/EBNF), "structural_tag"; NULL: nothing. With a reasoning parser it begins after the reasoning. */
    const char *constraint_kind, *constraint;
    const char *constraint_whitespace;                   /* between JSON tokens: NULL (up to 32 characters), "any", "compact", or a number */
    /* Parsers of the answer, by vLLM's names, or "auto" (found in the chat template); NULL: none. With one, an output's text is
     * the content alone. */
    const char *tool_parser, *reasoning_parser;
    const char *tools_json;                              /* the tools that the tool parser may call, as OpenAI's `tools` */
    int no_tool_calls;                                   /* calls are found and left out (tool_choice "none") */
    int thinking_off;                                    /* the prompt switched thinking off: the answer is content from its start */
    int parse_whole;                                     /* parsed when it has ended, as vLLM does without streaming: an answer with a malformed
                                                          * call is then all content */
    /* Of a model that makes embeddings; of `sampling` only n is read, and must be 1. */
    uint32_t dimensions;                                 /* 0: all; fewer where the model was trained for it (matryoshka) */
    int use_activation;                                  /* -1: as the model says; 0: the hidden state as it is; 1: of length 1 */
    /* With a reasoning parser: after this many tokens of reasoning its end is forced. -1: none. */
    int64_t thinking_token_budget;
} vc_request_params;

VC_API void vc_sampling_params_init(vc_sampling_params *p);
VC_API void vc_sampling_from_model(const vc_model *m, vc_sampling_params *p);
VC_API void vc_request_params_init(vc_request_params *p);
/* Copies everything it needs. The whole request is validated here: an error names the field. */
VC_API vc_status vc_submit(vc_model *m, const vc_request_params *p, uint64_t *id, vc_err *err);
VC_API vc_status vc_cancel(vc_model *m, uint64_t id);    /* its outputs end with finish_reason "abort" */

typedef struct vc_logprob { int32_t token; float logprob; uint32_t rank; } vc_logprob;   /* rank 0: not computed (logprob_token_ids) */

/* A piece of a tool call. The first of a call has its name; the arguments of all put together are its JSON text. */
typedef struct vc_tool_delta {
    uint32_t index;                      /* of the call in the answer, from 0 */
    const char *name;                    /* NULL in later pieces */
    const char *arguments; size_t arguments_len;
} vc_tool_delta;

/* What became known since the last output of the same choice. */
typedef struct vc_output {
    uint64_t request_id;
    uint32_t index;                      /* choice, 0 … n-1 */
    void *user;
    const int32_t *token_ids; uint32_t num_token_ids;
    const char *text; size_t text_len;   /* whole characters only; stop strings held back; never NULL */
    /* logprobs asked for: per new token, [0] is the chosen one, then the best in order. num_logprobs entries each. */
    const vc_logprob *logprobs; uint32_t num_logprobs;
    /* with the first output of choice 0, if prompt_logprobs was asked for: per prompt token as above; those of token 0 have token -1 */
    const vc_logprob *prompt_logprobs; uint32_t num_prompt_logprobs, num_prompt_tokens;
    uint32_t num_cached_tokens;          /* prompt tokens taken from the prefix cache */
    int finished;                        /* last output of this choice */
    int request_finished;                /* last output of this request */
    const char *finish_reason;           /* "stop", "length", "repetition", "abort", "error", or NULL */
    const char *stop_string; int32_t stop_token;  /* what stopped it: string or NULL, id or -1 */
    uint64_t seed;                       /* the seed in use */
    vc_err error;                        /* status != 0 when finish_reason is "error" */
    const char *reasoning; size_t reasoning_len;         /* with a reasoning parser; never NULL */
    const vc_tool_delta *tools; uint32_t num_tools;      /* with a tool parser */
    /* With return_margin: per new token, the best minus the second best logit in ulps of the logits' format (0: a tie; infinity:
     * there was no other); doc/numerics.md. Else NULL. */
    const float *margins;
    /* Seconds of the monotonic clock: submitted, first placed in a step, first and latest token of the choice; 0: not yet. */
    double queued_at, scheduled_at, first_token_at, last_token_at;
    uint32_t num_preemptions;            /* of the choice, so far */
    const float *embedding; uint32_t num_embedding;      /* of a model that makes them, in the one output of a request; else NULL */
} vc_output;

/* Runs one engine step on the calling thread. VC_E_DONE: nothing to do. VC_E_STATE: a thread runs (vc_start). */
VC_API vc_status vc_step(vc_model *m, vc_err *err);
VC_API vc_status vc_start(vc_model *m, vc_err *err);     /* a thread steps from now on */
VC_API vc_status vc_stop(vc_model *m);
/* The next output. Without a thread it steps as needed. timeout_ms < 0: wait; VC_E_TIMEOUT, or VC_E_DONE when no
 * request is left. *out becomes the caller's. */
VC_API vc_status vc_next(vc_model *m, int timeout_ms, vc_output **out, vc_err *err);
VC_API void vc_output_free(vc_output *o);

/* Values by bucket: count[i] of those at most bounds[i] and above the bound before, count[num_bounds] of the rest. */
typedef struct vc_histogram {
    const double *bounds;                /* ascending; the library's, constant */
    uint32_t num_bounds;
    uint64_t count[32];
    double sum;
} vc_histogram;

typedef struct vc_stats {
    size_t struct_size;
    uint32_t running, waiting;
    double kv_usage;                     /* 0 … 1 */
    uint64_t steps, prompt_tokens, generated_tokens, preemptions, prefix_queries, prefix_hits;
    double step_seconds;                 /* spent in steps */
    double step_age;                     /* seconds since the step that runs now began; 0: none runs */
    uint32_t free_blocks;                /* of the KV cache; what the prefix cache holds alone is free */
    uint64_t weight_bytes;               /* read by all steps: every weight once a step, of experts the share expected for its tokens */
    vc_histogram step_tokens;            /* prompt tokens computed and tokens made, per step */
    vc_histogram step_time;              /* seconds per step */
    vc_histogram margins;                /* of made tokens, as vc_output.margins; not of those of which only the greatest logit was computed */
} vc_stats;
VC_API vc_status vc_get_stats(const vc_model *m, vc_stats *s);
/* Seconds since the engine last began or ended a step although it has requests; 0: it has none. Takes no lock: answers
 * also when the engine is stuck. */
VC_API double vc_stalled(const vc_model *m);
VC_API vc_status vc_reset_prefix_cache(vc_model *m);

#ifdef __cplusplus
}
#endif
#endif
