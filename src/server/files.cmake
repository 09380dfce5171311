set(FILES srv_serve.c srv_models.c srv_listen.c srv_http.c srv_call.c srv_route.c srv_auth.c srv_cors.c srv_reload.c srv_tls.c srv_keys.c srv_keys_file.c srv_watch.c srv_alive.c srv_conns.c srv_log.c srv_front.c srv_pump.c srv_body.c srv_fields.c srv_openapi.c srv_schemas.c srv_docs.c srv_sampling.c
          srv_constraint.c srv_calls.c srv_gen.c srv_prompts.c srv_embed.c srv_embed_writer.c srv_score.c srv_output.c srv_interval.c srv_beam.c srv_pieces.c srv_completions.c srv_text_writer.c srv_chat.c srv_chat_writer.c srv_info.c
          srv_metrics.c srv_bandwidth.c srv_page.c srv_messages.c srv_messages_writer.c srv_responses.c srv_responses_writer.c
          srv_responses_json.c srv_background.c srv_store.c srv_local.c)
