# gram_*: builder and automaton; schema_*, tag_*: JSON Schema and structural tags.
set(FILES
)
list(APPEND FILES
     schema_array.c schema_assert.c schema_build.c schema_check.c schema_cycle.c schema_decimal.c schema_doc.c schema_expand.c
     schema_format.c schema_goal.c schema_keyword.c schema_negate.c schema_number.c schema_object.c schema_ref.c schema_string.c
     schema_tool.c schema_value.c tag_build.c tag_free.c)
