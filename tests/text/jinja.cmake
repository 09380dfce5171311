vc_test(template_golden FILES template_golden_test.c LINK vc_text)
vc_test(template FILES template_test.c LINK vc_text Threads::Threads)
vc_test(chat_messages FILES chat_messages_test.c LINK vc_text)
vc_test(template_limits FILES template_limits_test.c LINK vc_text)
