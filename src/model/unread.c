/* SPDX-License-Identifier: Apache-2.0
 * unread.c: what a checkpoint holds beside the tensors that its family reads. In the model's own part nothing may be left
 * over: a bias, a scale or a layer that nobody reads is a model that computes something else. */
#include <string.h>

#include "base/log.h"
#include "model/weights.h"

/* Kept by some writers, and made from the config here; or read elsewhere. */
static const char *const spare[] = { ".rotary_emb.inv_freq", ".rotary_emb.cos_cached", ".rotary_emb.sin_cached" };
static const char rope_freqs[] = "rope_freqs.weight";    /* GGUF: net.c */

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), k = strlen(end);
    return n >= k && !strcmp(name + n - k, end);
}

/* A head beside a tied embedding, or of a model that pools. */
static bool is_head(const struct vc_weights *w, const char *name) {
    const struct vc_tensor_row *r = vc_arch_row(w->config->arch, VC_ROLE_HEAD);
    const char *head = w->config->from_gguf ? r->gguf : r->hf;
    size_t n = strlen(head);
    return !strncmp(name, head, n) && !strcmp(name + n, ".weight");
}

static bool may_be_spare(const struct vc_weights *w, const char *name) {
    if (w->config->from_gguf) return is_head(w, name) || !strcmp(name, rope_freqs);
    for (size_t i = 0; i < VC_ARRAY_LEN(spare); i++)
        if (ends_in(name, spare[i])) return true;
    return is_head(w, name);
}

/* All of a GGUF file is one model. A folder may hold more: other heads, and Mistral's own copy of everything. */
static bool is_of_model(const struct vc_weights *w, const struct vc_tensor *t) {
    if (w->config->from_gguf) return true;
    const char *file = vc_tensors_file(w->tensors, t->file), *slash = strrchr(file, '/');
    if (!strncmp(slash ? slash + 1 : file, "consolidated", strlen("consolidated"))) return false;
    return !strncmp(t->name, "model.", strlen("model.")) || !strncmp(t->name, "layers.", strlen("layers."));
}

vc_status vc_weights_check_unread(const struct vc_weights *w, vc_err *err) {
    const struct vc_tensor *other = NULL;
    size_t n = vc_tensors_count(w->tensors), others = 0;
    for (size_t i = 0; i < n; i++) {
        const struct vc_tensor *t = vc_tensors_at(w->tensors, i);
        if (w->read[i] || may_be_spare(w, t->name)) continue;
        if (is_of_model(w, t))
            return vc_fail(err, VC_E_UNSUPPORTED, "%s: tensor %s: a model of the family %s with this config has none of this name",
                           vc_tensors_file(w->tensors, t->file), t->name, w->config->arch->name);
        if (!others++) other = t;
    }
    if (others)
        vc_log_line(VC_LOG_INFO, "%s: %zu tensors are not of the model and are left unread, such as %s", vc_tensors_file(w->tensors, other->file), others,
                    other->name);
    return VC_OK;
}
