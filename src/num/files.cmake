set(FILES dtype.c)
