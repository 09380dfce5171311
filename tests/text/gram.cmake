# gram_*: automaton, regular expressions, GBNF, masks; schema_*: JSON Schema.
vc_test(gram_case FILES gram_case_test.c LINK vc_text)
vc_test(schema_golden FILES schema_golden_test.c schema_run.c LINK vc_text PkgConfig::CRYPTO)
vc_test(gram_random FILES gram_random_test.c LINK vc_text)
vc_test(schema_suite FILES schema_suite_test.c schema_run.c LINK vc_text)
vc_test(schema_unit FILES schema_unit_test.c schema_run.c LINK vc_text)
vc_test(schema_random FILES schema_random_test.c schema_run.c LINK vc_text)
vc_test(gram_mask FILES gram_mask_test.c LINK vc_text)
