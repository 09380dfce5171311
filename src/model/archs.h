/* SPDX-License-Identifier: Apache-2.0
 * archs.h: the families of archs.def, and the layer tables that several of them use. */
#ifndef VC_MODEL_ARCHS_H
#define VC_MODEL_ARCHS_H

#include "model/arch.h"

#define VC_ARCH(id) extern const struct vc_arch vc_arch_##id;
#include "model/archs.def"
#undef VC_ARCH

extern const struct vc_layer_line vc_layer_llama[];

#endif
