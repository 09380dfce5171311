/* SPDX-License-Identifier: Apache-2.0
 * lab_main.c: vllmc lab: dispatch to its subcommands. */
#include "lab/lab.h"

#include <stdio.h>
#include <string.h>

#include "base/compat.h"
#include "lab/lab_args.h"

static const struct {
    const char *name, *text;
    int (*fn)(int, char **);
} commands[] = {
    { "gate", "compare the engine with reference runs, position by position", lab_gate_main },
    { "boundaries", "replay every stage of one recorded prefill and count differing words", lab_boundaries_main },
};

static void usage(FILE *f) {
    fprintf(f, "usage: vllmc lab COMMAND [options] PATH…\n\ncommands\n");
    for (size_t i = 0; i < VC_ARRAY_LEN(commands); i++) fprintf(f, "  %-12s %s\n", commands[i].name, commands[i].text);
    fprintf(f, "\nvllmc lab COMMAND --help tells more. Exit codes: 0 all rules hold, 1 one does not, 2 usage.\n");
}

int vc_lab_main(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return 0;
    }
    for (size_t i = 0; i < VC_ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].fn(argc - 1, argv + 1);
    fprintf(stderr, "vllmc lab: unknown command '%s'\n", argv[1]);
    usage(stderr);
    return 2;
}
