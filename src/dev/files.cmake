set(FILES kernel.c)
