/* SPDX-License-Identifier: Apache-2.0
 * args.h: arguments of each op, and its formula. T = tokens of the step, b_s(x) = x rounded to the format of slot s.
 * Every operation below is one f32 operation; fma where written. */
#ifndef VC_OP_ARGS_H
#define VC_OP_ARGS_H

#include "op/op.h"

/* EMBED: in ids i32 [T,1], table [V,H] of any dtype (raw is used; block formats are decoded); out x [T,H].
 * e is first rounded to `cast` (the dtype of the run; VC_F32: as stored). x = b_out(e * scale), or b_out(e) when scale
 * is 1. The caller has rounded scale (slot embed.scale). */
struct vc_embed_args { float scale; enum vc_dtype cast; };

/* RMSNORM: in x [T,H], w f32 [1,H], residual [T,H] or absent; out y [T,H], residual [T,H] or absent (may alias in[2]).
 * s = x + residual (unrounded); out residual = b_residual(s); n = sum of s^2 in the core's order;
 * r = 1 / sqrt(n / H + eps); y = b_out(b_pregamma(s * r) * (w + weight_offset)); weight_offset 1 (Gemma) uses slot
 * norm1p.pregamma; with 0, w is taken as it is. HEADNORM: x and y [T, heads * head_dim] with row strides; each head on
 * its own, w [1, head_dim]; slot headnorm.pregamma. y may alias x. */
struct vc_rmsnorm_args { float eps, weight_offset; };
struct vc_headnorm_args { float eps, weight_offset; uint32_t heads, head_dim; };

/* QUANTIZE: in x [T,K]; out q: rows in the layout of op/qact.h. Per block of `block` (32 or 256) values:
 * d = max|x| / 127; q = nearest-even(x * (1/d)), all 0 when d is 0; sums of q per 16 values. Blocks of 32 store
 * b_scale(d) (slot quant.scale). */
struct vc_quantize_args { uint32_t block; };

/* MATMUL: in x [M,K] (f32, f16, bf16; a quantized activation for the iblk core), w [N,K], bias f32 [1,N] or absent;
 * out y [M,N]. Order: the core (op/arith.def). max_only (set for each call): who reads y wants the greatest element of each row and
 * the lowest place that has it; an output that is certainly less may be -inf instead, one that is not finite NaN. */
struct vc_matmul_args { int max_only; };

/* ROPE: in x [T, heads*head_dim], table [P, rotary_dim] (cos of rotary_dim/2 frequencies, then sin), rows i32 [T,1];
 * out y like x (may alias). Pairs (i, i + rotary_dim/2) for NEOX, (2i, 2i+1) for GPTJ; a, b the pair:
 * y_a = b_out(a*cos - b*sin), y_b = b_out(b*cos + a*sin), each product and the sum rounded to f32 separately;
 * elements from rotary_dim on are copied. */
enum vc_rope_style { VC_ROPE_NEOX, VC_ROPE_GPTJ };
struct vc_rope_args { uint32_t heads, head_dim, rotary_dim; enum vc_rope_style style; };

/* ROWSCALE: in x [T,N], s f32 [T,1]; out y = b_out(x * b_factor(s)). */
struct vc_rowscale_args { int unused; };

/* The paged cache. A page holds page_tokens tokens (a multiple of 16) of one layer for all KV heads:
 *   [kv_head] [ K: [token/16] [head_dim] [16] | V: [token] [head_dim] ]    in the KV dtype
 * so 16 tokens of one K dimension are adjacent. pool.data is the base of this layer's region, pool.stride the bytes of
 * a page there; page p lies at data + p * stride. Pages are zeroed when handed out, so every value is finite. */
struct vc_kv_geom { uint32_t num_kv_heads, head_dim, page_tokens; };
static inline size_t vc_kv_k_index(const struct vc_kv_geom *g, uint32_t head, uint32_t tok, uint32_t d) {
    return ((size_t)head * 2 * g->page_tokens + tok / 16 * 16) * g->head_dim + (size_t)d * 16 + tok % 16;
}
static inline size_t vc_kv_v_index(const struct vc_kv_geom *g, uint32_t head, uint32_t tok, uint32_t d) {
    return (((size_t)head * 2 + 1) * g->page_tokens + tok) * g->head_dim + d;
}

/* KVSTORE: in k [T, kv_heads*head_dim], v likewise, slots i64 [T,1] (page * page_tokens + token; -1: skip); out pool. */
struct vc_kvstore_args { struct vc_kv_geom geom; };

/* ATTENTION: in q [T, num_heads*head_dim], pool (above); out y like q. Row i of sequence s is at position pos0 + i and
 * sees keys max(0, p - window + 1) … p (window 0: all from 0). Query head h uses KV head h / (num_heads / num_kv_heads).
 * Scores: chain * scale, softcap (0: none); slots attn.score, attn.prob. Orders: the core; design in doc/numerics.md.
 * carried: tile_rows keys per tile (vc_carried_tile). */
struct vc_attn_seq { uint32_t row0, rows, pos0; const uint32_t *block_table; };
struct vc_attention_args {
    struct vc_kv_geom geom;
    uint32_t num_heads, window, num_seqs;
    float scale, softcap;
    const struct vc_attn_seq *seqs;
};

/* ACTMUL: in gate_up [T, 2*I] (gate, then up); out y [T,I] = b_out(b_gate(act(g)) * u).
 * SILU: g / (1 + exp(-g)). GELU_TANH: (0.5*g)*(1 + tanh(k*(g + 0.044715*((g*g)*g)))), k = f32(sqrt(2/pi)).
 * GELU: (0.5*g)*(1 + erf(g * f32(sqrt(1/2)))). RELU: 0 where g < 0, else g. exp, tanh, erf: op/math.h.
 * As torch does it: where act.gate is bf16 and the act GELU_TANH, act(g) is -0 for g in [-5.15625, -5.0625] in the first
 * I/64*64 elements of a row (torch's vector code); the last I mod 64 follow the formula (its scalar code). */
enum vc_act { VC_ACT_SILU, VC_ACT_GELU_TANH, VC_ACT_GELU, VC_ACT_RELU };
struct vc_actmul_args { enum vc_act act; };

/* ROUTER: in logits [T,E]; out ids i32 [T,k], weights f32 [T,k]. Softmax routing; renorm: softmax over the chosen k
 * (equal to softmax over all, chosen, divided by their sum), else softmax over all E. slot route. E <= VC_MAX_EXPERTS.
 * route-lowest: w_j = b_route(exp(v_j - max) / sum in index order). route-torch: the same with glibc's expf and the chosen
 * in their order for renorm, else b(exp(b(v_j - z))), z = b(b(log(b(sum b(exp(b(x - max)))))) + max), b = b_route, exp and log
 * correctly rounded, the sum in the order of torch.logsumexp (op/route.h). */
struct vc_router_args { uint32_t num_experts, top_k; int renorm; };

/* MOE: in x [T,H], ids i32 [T,k], weights f32 [T,k], w13 [E][2I,H] (gate rows, then up), w2 [E][H,I]; out y [T,H].
 * Expert e of a packed weight starts at data + e * expert_stride (raw: e * rows*cols). h = b_hidden(b_act(act(b_gate(g))) * b_gate(u));
 * d = b_down(w2 h); y = b_out(sum in router order: w0*d0 rounded, then fma(d_j, w_j, sum)).
 * The chain core (vllm*) has h = b(u * (g * (1/(1 + fast_exp(-g))))) for SILU. */
struct vc_moe_args { uint32_t num_experts, top_k, intermediate; enum vc_act act; size_t stride13, stride2; };

/* GATHER: in x [T,H], rows i32 [n,1]; out y [n,H] of x's dtype. */
struct vc_gather_args { int unused; };

/* SOFTCAP: in x; out y = b_out(b_inner(tanh(b_inner(x / cap))) * cap). */
struct vc_softcap_args { float cap; };

#endif
