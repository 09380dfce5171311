/* SPDX-License-Identifier: Apache-2.0
 * lab_args.h: command lines of the lab's subcommands: a table of options per command. */
#ifndef VC_LAB_LAB_ARGS_H
#define VC_LAB_LAB_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum lab_opt_kind { LAB_OPT_FLAG, LAB_OPT_TEXT, LAB_OPT_UINT, LAB_OPT_UINTS /* "1,2,8", ended by 0, at most 8 */ };
struct lab_opt {
    const char *name, *value; /* "--ref", "REF"; value NULL for flags */
    enum lab_opt_kind kind;
    size_t at; /* offset in the args struct: bool, const char *, uint32_t, uint32_t[9] */
    const char *text;
};

/* Reads argv[1…] by the table (ended by a row without a name); other arguments go to paths[*num_paths]. */
vc_status lab_parse(int argc, char **argv, const struct lab_opt *opts, void *args, const char **paths,
                    uint32_t *num_paths, vc_err *err);
void lab_print_options(const struct lab_opt *opts);

struct lab_gate_args {
    bool allow_ties, json, help;
    const char *ref, *model, *numerics;
    uint32_t threads, repeats, concurrency[9];
};

int lab_gate_main(int argc, char **argv);
int lab_boundaries_main(int argc, char **argv);

#endif
