set(FILES cpu_back.c)
