/* SPDX-License-Identifier: Apache-2.0
 * server.h: the HTTP API over opened models, as vLLM's OpenAI server. vc_serve binds first, so that health checks see
 * "loading", then opens the models, and returns when a signal has asked for the end and all answers are out or the
 * drain time is over. One server per process at a time: SIGINT, SIGTERM and SIGHUP are its own meanwhile. */
#ifndef VC_SERVER_SERVER_H
#define VC_SERVER_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "vllmc.h"

/* One of the models that are served. Requests name it by one of its names. */
struct vc_server_model {
    vc_model_params params;                 /* without a size of its KV cache: an equal share of what is free */
    const char *const *names; size_t num_names;     /* default: the model's path */
    const char *tool_parser, *reasoning_parser;     /* names, or "auto"; NULL: none */
};
/* What may change while the server runs, besides the files of keys and certificates. */
struct vc_server_reload { const char *const *allowed_origins; size_t num_allowed_origins; int log_level; };
/* All strings are borrowed for the time of the call; NULL: the default. */
struct vc_server_params {
    const struct vc_server_model *models; size_t num_models;        /* at least one; the first is the default */
    const char *host;                       /* "127.0.0.1" */
    uint32_t port;                          /* 8000; 0: any free one */
    const char *uds;                        /* path of a Unix socket instead of host and port */
    const char *const *api_keys; size_t num_api_keys;
    const char *api_key_file;               /* keys with names and limits; read again on SIGHUP */
    const char *root_path;                  /* prefix that a proxy in front adds: taken off */
    const char *const *allowed_origins; size_t num_allowed_origins; /* CORS: none; "*": all */
    int allow_credentials;
    uint32_t shutdown_timeout;              /* seconds for running answers after SIGTERM; 0: they are cut at once */
    uint32_t max_connections;               /* 0: as many as the file limit allows, at most 16384 */
    uint64_t max_body_bytes;                /* 32 MiB */
    uint32_t request_timeout;               /* seconds for a request to arrive; 60 */
    uint32_t idle_timeout;                  /* seconds of silence on a connection; 75 */
    int debug_endpoints;                    /* 1: /debug/blocks answers */
    uint32_t max_connections_per_address;   /* 0: no limit */
    const char *log_format;                 /* "text", "json" */
    uint32_t stall_timeout;                 /* seconds without progress until /health is 503; 300; 0: never */
    uint32_t max_queued;                    /* requests in the engine, waiting ones too; 0: 4 per sequence, >= 1024 */
    int enable_auto_tool_choice;
    const char *response_role;              /* "assistant" */
    const char *content_format;             /* "auto", "string", "openai" */
    int trust_request_template;             /* 1: a request may bring its own chat template */
    int force_include_usage, prompt_tokens_details, request_id_headers, return_tokens_as_ids;
    int no_docs;                           /* no /docs, no /openapi.json */
    int no_access_log, log_requests;        /* log_requests: also the sizes and parameters of each, never its text */
    const char *ssl_keyfile, *ssl_certfile;
    const char *ssl_ca_certs;               /* clients' certificates must come from these */
    uint32_t ssl_cert_reqs;                 /* 0: clients show none, 1: they may, 2: they must */
    int ssl_refresh;                        /* the files are read again when they change */
    void (*ready)(const char *url, void *arg);      /* called once requests are answered */
    void *ready_arg;
    uint32_t front_threads;                 /* threads that read, render and tokenize requests; 2 */
    uint32_t keep_alive;                    /* seconds of silence in a stream, then a comment is sent; 0: never */
    uint32_t stream_interval;               /* tokens per event of a stream, unless the request says; 1 */
    const char *template_kwargs;            /* JSON object: variables of chat templates, below those of the request */
    int exclude_tools_none;                 /* 1: with tool_choice none the template sees no tools */
    int compact_json;                       /* 1: no white space in constrained JSON */
    const char *fingerprint;                /* system_fingerprint; NULL: name and version; "": none */
    int http_log;                           /* lines about HTTP: enum vc_log_level; info: one per request */
    const char *quiet_paths;                /* "/health,/metrics": no line for requests of these */
    const char *const *allowed_methods; size_t num_allowed_methods; /* CORS; none, or "*": all */
    const char *const *allowed_headers; size_t num_allowed_headers;
    uint32_t max_headers;                   /* of a request; 256 */
    uint64_t max_head_bytes;                /* request line and headers, and what of a body is in flight; 32 KiB */
    /* SIGHUP: the options that may change are read again; what is not touched in *r stays. Its strings are copied. */
    vc_status (*reload)(void *arg, struct vc_server_reload *r, vc_err *err);
    void *reload_arg;
    int tokenizer_info;                     /* 1: /tokenizer_info answers */
    int any_name;                           /* 1: a request that names no model of these is for the first */
};
void vc_server_params_init(struct vc_server_params *p);
vc_status vc_serve(const struct vc_server_params *p, vc_err *err);

#endif
