vc_test(op_vllm_vectors FILES vllm_vectors.c LINK vc_op PkgConfig::JANSSON)
