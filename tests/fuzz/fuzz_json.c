/* SPDX-License-Identifier: Apache-2.0
 * fuzz_json.c: any bytes as JSON text: refused with a position, or a tree whose strings our writer turns into JSON
 * again. */
#include "fuzz.h"

#include <string.h>

#include "io/json.h"
#include "io/json_out.h"

static void rewrite(const char *s, size_t n) {
    struct vc_buf b = { 0 };
    json_t *again;
    vc_json_add_str(&b, s, n);
    FUZZ_CHECK(vc_json_parse(&again, b.p, b.n, "again", NULL) == VC_OK);
    FUZZ_CHECK(json_string_length(again) == n && !memcmp(json_string_value(again), s, n));
    json_decref(again);
    vc_buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    json_t *root, *v;
    const char *key;
    size_t len;
    vc_err err = VC_ERR_INIT;
    if (vc_json_parse(&root, (const char *)data, n, "fuzz.json", &err)) {
        FUZZ_CHECK(!root && !strncmp(err.text, "fuzz.json:", 10));
    } else {
        if (json_is_string(root)) rewrite(json_string_value(root), json_string_length(root));
        if (json_is_object(root)) {
            json_object_keylen_foreach(root, key, len, v) {
                rewrite(key, len);
                if (json_is_string(v)) rewrite(json_string_value(v), json_string_length(v));
            }
        }
        vc_json_at(root, "a.0.shape.1");
        json_decref(root);
    }
    /* The writer takes any bytes. */
    struct vc_buf b = { 0 };
    vc_json_add_str(&b, (const char *)data, n);
    FUZZ_CHECK(vc_json_parse(&v, b.p, b.n, "text", NULL) == VC_OK);
    json_decref(v);
    vc_buf_free(&b);
    return 0;
}
