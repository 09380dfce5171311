set(FILES status.c arena.c base64.c str.c grow.c log.c clock.c cpu.c cpu_list.c crew.c pool.c thread.c bandwidth.c)
