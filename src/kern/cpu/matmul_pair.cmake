list(APPEND TIER_FILES matmul_pair.c pair_tiles.c)
list(APPEND BF16_FILES pair_dp.c)
list(APPEND FILES matmul_pair_pack.c)
