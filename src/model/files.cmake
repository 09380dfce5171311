set(FILES archs.c arch/common.c arch/llama.c arch/qwen3.c arch/gemma3.c config.c config_rope.c weights.c pack.c build.c block_attention.c block_ffn.c net.c kv_groups.c pooler.c pooler_read.c)
