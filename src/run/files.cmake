set(FILES sched.c sched_seq.c sched_queue.c)
