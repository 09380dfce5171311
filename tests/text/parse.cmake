vc_test(parse_golden FILES parse_golden_test.c parse_run.c LINK vc_text)
vc_test(parse_property FILES parse_property_test.c parse_run.c LINK vc_text)
vc_test(parse_hostile FILES parse_hostile_test.c parse_run.c LINK vc_text)
