set(FILES hash.c block_pool.c cache.c)
