set(FILES dtype.c digits.c round.c block.c block_32.c block_256.c fit.c encode_256.c)
