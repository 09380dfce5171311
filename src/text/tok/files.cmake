set(FILES
    tok_added.c tok_bpe.c tok_chars.c tok_decode.c tok_encode.c tok_gguf.c tok_json.c tok_map.c tok_match.c tok_norm.c
    tok_parts.c tok_pre.c tok_regex.c tok_regex_rewrite.c tok_stream.c tokenizer.c
)
