/* SPDX-License-Identifier: Apache-2.0
 * hello.c: opens a model, sends one prompt and prints the answer as it comes.
 *     cc hello.c $(pkg-config --cflags --libs vllmc) -o hello && ./hello model.gguf "Once upon a time" */
#include <stdio.h>

#include "vllmc.h"

static int fail(const char *what, const vc_err *err) {
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 1;
}

int main(int argc, char **argv) {
    vc_model_params mp;
    vc_request_params rp;
    vc_model *model = NULL;
    vc_err err = VC_ERR_INIT;
    vc_model_params_init(&mp);
    vc_request_params_init(&rp);
    mp.path = argc > 1 ? argv[1] : "model.gguf";
    mp.max_num_seqs = 1;
    rp.prompt = argc > 2 ? argv[2] : "Hello, my name is";
    rp.sampling.temperature = 0;
    rp.sampling.max_tokens = 32;
    if (vc_model_open(&model, &mp, &err)) return fail("open", &err);
    if (vc_submit(model, &rp, NULL, &err)) return fail("submit", &err);
    fputs(rp.prompt, stdout);
    for (vc_output *o; !vc_next(model, -1, &o, &err); vc_output_free(o)) {
        fputs(o->text, stdout);
        if (o->error.status) fail("generate", &o->error);
    }
    putchar('\n');
    vc_model_close(&model);
    return 0;
}
