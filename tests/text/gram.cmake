# gram_*: automaton, regular expressions, GBNF, masks; schema_*: JSON Schema.
vc_test(gram_case FILES gram_case_test.c LINK vc_text)
vc_test(schema_golden FILES schema_golden_test.c schema_run.c LINK vc_text PkgConfig::CRYPTO)
vc_test(gram_random FILES gram_random_test.c LINK vc_text)
vc_test(schema_suite FILES schema_suite_test.c schema_run.c LINK vc_text)
vc_test(schema_unit FILES schema_unit_test.c schema_run.c LINK vc_text)
vc_test(schema_random FILES schema_random_test.c schema_run.c LINK vc_text)
vc_test(gram_mask FILES gram_mask_test.c LINK vc_text)
# A real model under schemas; labelled long with all of them.
vc_test(schema_generate FILES schema_generate_test.c schema_run.c LINK vc_api)
add_test(NAME schema_generate_full COMMAND test_schema_generate --full)
set_tests_properties(schema_generate_full PROPERTIES LABELS long TIMEOUT 3600)
vc_test(gram_unit FILES gram_unit_test.c LINK vc_text Threads::Threads)
