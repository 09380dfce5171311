vc_test(op_matmul_vllm FILES matmul_vllm.c LINK vc_op PkgConfig::JANSSON)
