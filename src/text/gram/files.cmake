# gram_*: builder and automaton; schema_*, tag_*: JSON Schema and structural tags.
set(FILES
    gram_conf.c gram_dfa.c gram_ebnf.c gram_far.c gram_frag.c gram_graph.c gram_json.c gram_lexeme.c gram_loops.c gram_mask.c gram_match.c gram_nfa.c
    gram_node.c gram_product.c gram_regex.c gram_rxclass.c gram_set.c gram_utf8.c gram_vocab.c grammar.c
)
list(APPEND FILES
     schema_array.c schema_assert.c schema_build.c schema_check.c schema_cycle.c schema_decimal.c schema_doc.c schema_expand.c
     schema_format.c schema_goal.c schema_keyword.c schema_negate.c schema_number.c schema_object.c schema_ref.c schema_string.c
     schema_tool.c schema_value.c tag_build.c tag_free.c)
