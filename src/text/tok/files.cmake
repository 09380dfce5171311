set(FILES
    tok_added.c tok_bpe.c tok_chars.c tok_charsmap.c tok_config.c tok_decode.c tok_encode.c tok_gguf.c tok_gguf_kinds.c tok_greedy.c tok_info.c tok_json.c tok_json_model.c
    tok_map.c tok_match.c tok_model.c tok_norm.c tok_norm_char.c tok_norm_sp.c tok_parts.c tok_parts_dec.c tok_parts_post.c tok_pre.c tok_regex.c
    tok_ranks.c tok_regex_rewrite.c tok_script.c tok_sp_file.c tok_stream.c tok_tekken.c tok_tiktoken.c tok_unigram.c tokenizer.c
)
