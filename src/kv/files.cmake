set(FILES hash.c blocks.c cache.c)
