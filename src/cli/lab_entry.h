/* SPDX-License-Identifier: Apache-2.0
 * lab_entry.h: the way into vllmc lab, which reads its own arguments. argv[0] is "lab". */
#ifndef VC_CLI_LAB_ENTRY_H
#define VC_CLI_LAB_ENTRY_H

int cli_lab_entry(int argc, char **argv);

#endif
