set(FILES cpu_back.c cpu_fuse.c)
