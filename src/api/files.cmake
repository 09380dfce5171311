set(FILES model.c request.c output.c stop.c loop.c text.c defaults.c)
