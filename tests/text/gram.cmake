# gram_*: automaton, regular expressions, GBNF, masks; schema_*: JSON Schema.
