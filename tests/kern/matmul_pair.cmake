vc_test(kern_matmul_pair FILES matmul_pair.c LINK kern_harness)
