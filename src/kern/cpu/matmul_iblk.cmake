list(APPEND FILES matmul_iblk_pack.c)
list(APPEND TIER_FILES quantize.c matmul_iblk.c)
# gcc would reorder the integer additions of a tile, all products before them, and spill.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/kern/cpu/matmul_iblk.c PROPERTIES COMPILE_OPTIONS "$<$<C_COMPILER_ID:GNU>:-fno-tree-reassoc;-fno-tree-ter>")
