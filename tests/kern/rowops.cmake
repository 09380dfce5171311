vc_test(kern_rowops FILES rowops.c LINK kern_harness)
