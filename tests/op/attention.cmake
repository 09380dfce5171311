vc_test(op_attention_vllm FILES attention_vllm.c LINK vc_op vc_io)
