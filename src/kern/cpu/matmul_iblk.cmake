list(APPEND FILES matmul_iblk_pack.c)
list(APPEND TIER_FILES quantize.c matmul_iblk.c)
