set(FILES sched.c sched_seq.c sched_queue.c
    sample.c sample_params.c sample_mask.c sample_penalty.c sample_filter.c sample_prob.c sample_gumbel.c sample_topk.c
    engine.c step.c pooling.c pool_size.c figures.c)
