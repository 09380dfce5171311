set(FILES model.c request.c choice.c constraint.c parse.c output.c stop.c loop.c text.c chat.c defaults.c)
