vc_test(op_vllm_vectors FILES vllm_vectors.c LINK vc_op PkgConfig::JANSSON)
vc_test(op_rope_table FILES rope_table.c LINK vc_op PkgConfig::JANSSON)
