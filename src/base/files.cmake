set(FILES status.c arena.c str.c log.c clock.c cpu.c pool.c)
