vc_test(kern_moe FILES moe.c LINK kern_harness)
