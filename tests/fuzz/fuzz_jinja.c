/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a chat template: compiled, looked through and rendered with small budgets. Nothing but a status may
 * come of it. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "text/template.h"

static json_t *variables(void) {
    static const char text[] = "{\"a\": [1, 2, 3], \"s\": \"Hello \\u00e9\\ud83d\\ude00\", \"d\": {\"b\": 2, \"a\": "
                               "[null, true]}, \"n\": null, \"i\": 7, \"fl\": 1.5, \"messages\": "
                               "[{\"role\": \"user\", \"content\": \"hi\"}, {\"role\": \"assistant\", \"content\": "
                               "null}], \"bos_token\": \"<s>\"}";
    return json_loads(text, 0, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static json_t *vars;
    if (!vars) vars = variables();
    struct vc_template *t = NULL;
    vc_err err = VC_ERR_INIT;
    if (n > 65536 || vc_template_compile(&t, (const char *)data, n, &err)) return 0;
    struct vc_template_limits lim = {
        .steps = 20000, .output_bytes = 1 << 16, .memory_bytes = 4 << 20, .depth = 200, .ms = 1000
    };
    struct vc_buf out = { 0 };
    if (n % 8 == 0) (void)vc_template_content_format(t);
    for (size_t i = 0; vc_template_variable(t, i); i++)
        if (!vc_template_uses(t, vc_template_variable(t, i))) abort();
    vc_template_render_vars(t, vars, 0, &lim, &out, &err);
    vc_buf_free(&out);
    vc_template_del(t);
    return 0;
}
