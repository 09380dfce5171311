vc_test(parse_golden FILES parse_golden_test.c parse_run.c LINK vc_text)
