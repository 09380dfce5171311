vc_test(tok_golden FILES tok_golden_test.c tok_run.c LINK vc_text)
vc_test(tok_unit FILES tok_unit_test.c tok_run.c LINK vc_text)
vc_test(tok_property FILES tok_property_test.c tok_run.c LINK vc_text)
