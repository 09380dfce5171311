# Sources compiled once; once per tier (VC_TIER_SUFFIX is portable, avx2, avx512); for the rows of the tier avx512bf16, whose names end in avx512, too.
set(FILES kernels.c)
set(TIER_FILES "")
set(BF16_FILES "")
include(${CMAKE_CURRENT_LIST_DIR}/matmul_pair.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/matmul_iblk.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/moe.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/attention.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/rowops.cmake OPTIONAL)
