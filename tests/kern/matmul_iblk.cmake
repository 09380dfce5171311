vc_test(kern_matmul_iblk FILES matmul_iblk.c LINK kern_harness)
vc_test(kern_quantize FILES quantize.c LINK kern_harness)
