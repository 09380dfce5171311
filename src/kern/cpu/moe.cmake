list(APPEND TIER_FILES moe.c)
