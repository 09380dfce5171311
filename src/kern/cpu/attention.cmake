list(APPEND FILES attention_rows.c)
list(APPEND TIER_FILES attention_carried.c attention_tiled.c kvstore.c)
