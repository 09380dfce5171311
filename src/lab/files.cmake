set(FILES lab_main.c lab_args.c
    gate_main.c gate_load.c gate_models.c gate_moe.c gate_real.c gate_gguf.c gate_run.c gate_judge.c gate_same.c gate_router.c
    gate_ties.c gate_checks.c gate_report.c gate_json.c
    boundaries.c boundaries_open.c boundaries_weights.c boundaries_stages.c boundaries_experts.c)
