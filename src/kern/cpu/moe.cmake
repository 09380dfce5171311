list(APPEND TIER_FILES moe.c moe_iblk.c)
