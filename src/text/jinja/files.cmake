set(FILES
    chat_messages.c chat_tools.c
    jinja_attr.c jinja_big.c jinja_call.c jinja_case.c jinja_ctype.c jinja_entity.c jinja_escape.c jinja_eval.c
    jinja_exec.c jinja_filter.c jinja_filter_html.c jinja_filter_map.c jinja_filter_num.c jinja_filter_pprint.c
    jinja_filter_seq.c jinja_filter_str.c jinja_filter_urlize.c jinja_float.c jinja_format.c jinja_global.c
    jinja_json.c jinja_lex.c jinja_loop.c jinja_method.c jinja_method_more.c jinja_names.c jinja_ops.c jinja_parse.c
    jinja_parse_expr.c jinja_percent.c jinja_repr.c jinja_search.c jinja_str_find.c jinja_str_split.c jinja_test.c
    jinja_time.c jinja_value.c template.c template_format.c template_source.c
)
