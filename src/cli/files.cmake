set(FILES options.c options_words.c options_json.c options_env.c options_file.c vllm_flags.c print_config.c values.c nearest.c say.c term.c interrupt.c command_text.c help.c help_topic.c help_man.c help_markdown.c help_complete.c load.c answer.c
          converse.c cmd_run.c cmd_chat.c chat_input.c chat_words.c cmd_embed.c cmd_batch.c batch_line.c batch_result.c batch_store.c
          cmd_inspect.c inspect_file.c inspect_print.c cmd_tokenize.c tokenize_lines.c cmd_parse.c cmd_template.c cmd_constrain.c
          constrain_lines.c cmd_info.c info_tables.c cmd_bench.c bench_run.c bench_peak.c bench_cost.c
          cmd_serve.c serve_models.c serve_options.c cmd_help.c cmd_lab.c)
