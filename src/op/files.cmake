set(FILES op.c rowwise.c numerics.c math.c route.c rope_table.c
          ref/embed.c ref/rmsnorm.c ref/headnorm.c ref/quantize.c ref/matmul.c ref/matmul_iblk.c ref/rope.c ref/rowscale.c
          ref/kvstore.c ref/attention.c ref/actmul.c ref/router.c ref/moe.c ref/gather.c ref/softcap.c)
