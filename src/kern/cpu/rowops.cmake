list(APPEND TIER_FILES embed.c rmsnorm.c headnorm.c rope.c rowscale.c actmul.c router.c gather.c softcap.c)
