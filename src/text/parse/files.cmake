set(FILES
    parse_call_gemma.c parse_call_json.c parse_call_named.c parse_call_py.c parse_call_xml.c parse_detect.c parse_harmony.c
    parse_json.c parse_out.c parse_py_str.c parse_schema.c parse_section.c parse_table.c parse_tag.c parse_think.c parser.c
)
