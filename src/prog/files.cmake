set(FILES prog.c plan.c print.c)
