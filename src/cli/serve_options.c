/* SPDX-License-Identifier: Apache-2.0
 * serve_options.c: options of `vllmc serve` that are more than one field of the server's parameters. */
#include <string.h>

#include "base/log.h"
#include "cli/serve_models.h"
#include "io/json.h"

/* --uvicorn-log-level → the least important lines about HTTP. */
static int http_level(const char *name) {
    static const struct {
        const char *name;
        int level;
    } levels[] = {
        { "critical", VC_LOG_ERROR }, { "error", VC_LOG_ERROR }, { "warning", VC_LOG_WARN },
        { "debug", VC_LOG_DEBUG },    { "trace", VC_LOG_DEBUG },
    };
    for (size_t i = 0; name && i < VC_ARRAY_LEN(levels); i++)
        if (!strcmp(levels[i].name, name)) return levels[i].level;
    return VC_LOG_INFO;
}

static int fingerprint(struct cli_opts *o, struct vc_server_params *p) {
    const char *mode = o->fingerprint_mode ? o->fingerprint_mode : "full";
    bool custom = !strcmp(mode, "custom");
    if (custom && (!o->fingerprint_value || !*o->fingerprint_value))
        return cli_usage(o, "--fingerprint-mode custom needs --fingerprint-value");
    if (!custom && o->fingerprint_value) return cli_usage(o, "--fingerprint-value is for --fingerprint-mode custom");
    p->fingerprint = custom ? o->fingerprint_value : !strcmp(mode, "none") ? "" : NULL;
    return CLI_OK;
}

/* vLLM's keys of --structured-outputs-config: what can be set, and the values that others must have. */
static int structured_key(struct cli_opts *o, struct vc_server_params *p, const char *key, const json_t *v) {
    static const char name[] = "--structured-outputs-config";
    const char *text = json_string_value(v);
    if (!strcmp(key, "disable_any_whitespace") && json_is_boolean(v)) {
        p->compact_json = json_is_true(v);
        return CLI_OK;
    }
    if (!strcmp(key, "reasoning_parser") && text) {
        if (!o->serve_reasoning && *text) o->serve_reasoning = vc_arena_strdup(&o->arena, text);
        return *text && !o->serve_reasoning ? cli_fail("out of memory") : CLI_OK;
    }
    if (!strcmp(key, "backend"))
        return text && !strcmp(text, "auto")
                   ? CLI_OK
                   : cli_usage(o, "%s: backend: grammars are compiled here, by one backend: \"auto\"", name);
    if (!strcmp(key, "disable_additional_properties") || !strcmp(key, "enable_in_reasoning"))
        return json_is_false(v)
                   ? CLI_OK
                   : cli_usage(o, "%s: %s: only false; %s", name, key,
                               key[0] == 'd' ? "write \"additionalProperties\": false into the schema"
                                             : "reasoning is free text, the answer after it follows the grammar");
    if (!strcmp(key, "reasoning_parser_plugin"))
        return text && !*text ? CLI_OK : cli_usage(o, "%s: %s: no Python is loaded; see vllmc parse --list", name, key);
    return cli_usage(o,
                     "%s: '%s': expected backend, disable_any_whitespace, reasoning_parser, "
                     "disable_additional_properties or enable_in_reasoning with values of their types",
                     name, key);
}

static int structured(struct cli_opts *o, struct vc_server_params *p) {
    json_t *root, *v;
    const char *key;
    vc_err err = VC_ERR_INIT;
    if (!o->structured_config) return CLI_OK;
    if (vc_json_parse(&root, o->structured_config, strlen(o->structured_config), "--structured-outputs-config", &err) !=
        VC_OK)
        return cli_usage(o, "%s", err.text);
    int rc = CLI_OK;
    json_object_foreach(root, key, v) if (rc == CLI_OK) rc = structured_key(o, p, key, v);
    json_decref(root);
    return rc;
}

/* Tokens of HTTP, as they go into headers. */
static bool are_tokens(const struct cli_strs *l) {
    for (size_t i = 0; i < l->n; i++) {
        if (!l->v[i][0] || strlen(l->v[i]) > 64) return false;
        for (const char *c = l->v[i]; *c; c++)
            if (*c <= ' ' || *c > '~' || strchr("(),/:;<=>?@[\\]{}\"", *c)) return false;
    }
    return l->n <= 64;
}

int cli_serve_options(struct cli_opts *o, struct vc_server_params *p) {
    enum { LEAST_HEAD = 16 << 10, MOST_HEAD = 64 << 20 };
    unsigned char address = VC_MAX(o->source[CLI_OPT_HOST], o->source[CLI_OPT_PORT]);
    if (o->given[CLI_OPT_UDS] && o->source[CLI_OPT_UDS] == address)
        return cli_usage(o, "--uds excludes --host and --port");
    if (o->source[CLI_OPT_UDS] < address) p->uds = NULL;       /* a higher source says where to listen */
    if (p->ssl_keyfile && !p->ssl_certfile) return cli_usage(o, "--ssl-keyfile needs --ssl-certfile");
    if (p->ssl_ca_certs && !p->ssl_certfile) return cli_usage(o, "--ssl-ca-certs needs --ssl-certfile");
    if (p->ssl_cert_reqs > 2) return cli_usage(o, "--ssl-cert-reqs: %u, expected 0, 1 or 2", p->ssl_cert_reqs);
    if (p->ssl_cert_reqs && !p->ssl_ca_certs)
        return cli_usage(o, "--ssl-cert-reqs %u needs --ssl-ca-certs", p->ssl_cert_reqs);
    for (size_t i = 0; i < o->api_keys.n; i++)
        if (!o->api_keys.v[i][0]) return cli_usage(o, "--api-key: an empty key lets everyone in");
    if (!are_tokens(&o->allowed_methods))
        return cli_usage(o, "--allowed-methods: at most 64 names of methods such as GET, or *");
    if (!are_tokens(&o->allowed_headers))
        return cli_usage(o, "--allowed-headers: at most 64 names of headers such as X-Request-Id, or *");
    if (o->model.max_logprobs < -1)
        return cli_usage(o, "--max-logprobs: %d, expected -1 or more", (int)o->model.max_logprobs);
    if (p->front_threads < 1 || p->front_threads > 256)
        return cli_usage(o, "--renderer-num-workers: %u, expected 1 to 256", p->front_threads);
    if (p->stream_interval < 1) return cli_usage(o, "--stream-interval: 0, expected at least 1");
    if (p->max_headers < 1) return cli_usage(o, "--h11-max-header-count: 0, expected at least 1");
    if (p->max_head_bytes < LEAST_HEAD || p->max_head_bytes > MOST_HEAD)
        return cli_usage(o, "--h11-max-incomplete-event-size: expected 16K to 64M");
    p->api_keys = o->api_keys.v;
    p->num_api_keys = o->api_keys.n;
    p->allowed_origins = o->allowed_origins.v;
    p->num_allowed_origins = o->allowed_origins.n;
    p->allowed_methods = o->allowed_methods.v;
    p->num_allowed_methods = o->allowed_methods.n;
    p->allowed_headers = o->allowed_headers.v;
    p->num_allowed_headers = o->allowed_headers.n;
    p->http_log = http_level(o->http_log);
    int rc = fingerprint(o, p);
    return rc == CLI_OK ? structured(o, p) : rc;
}
