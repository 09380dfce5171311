set(FILES map.c names.c gguf.c gguf_parse.c gguf_get.c json.c json_get.c json_out.c safetensors.c safetensors_write.c tensors.c)
