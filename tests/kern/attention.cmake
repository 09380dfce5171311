vc_test(kern_attention FILES attention.c LINK kern_harness)
vc_test(kern_kvstore FILES kvstore.c LINK kern_harness)
