/* SPDX-License-Identifier: Apache-2.0
 * lab.h: the entry of `vllmc lab`: gates, probes and other comparisons with references. It reads its own arguments;
 * argv[0] is "lab". Returns an exit code. */
#ifndef VC_LAB_LAB_H
#define VC_LAB_LAB_H

int vc_lab_main(int argc, char **argv);

#endif
