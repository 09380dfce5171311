# gram_*: builder and automaton; schema_*, tag_*: JSON Schema and structural tags.
set(FILES
)
