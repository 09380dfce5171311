/* SPDX-License-Identifier: Apache-2.0
 * cmd_lab.c: vllmc lab hands over to the lab, if the build has it. */
#include "cli/cli.h"
#include "cli/lab_entry.h"
#include "lab/lab.h"

int cli_lab_entry(int argc, char **argv) {
#ifdef VC_HAVE_LAB
    return vc_lab_main(argc, argv);
#else
    (void)argc;
    (void)argv;
    return cli_fail("lab: this program was built without src/lab");
#endif
}

int cli_lab(struct cli_opts *o) {
    (void)o;
    static char name[] = "lab", help[] = "--help";
    char *argv[] = { name, help, NULL };
    return cli_lab_entry(2, argv);
}
