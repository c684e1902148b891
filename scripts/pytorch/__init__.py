"""What bench_pytorch.py is made of. Only torch_device.py, torch_operations.py and triton_kernels.py need PyTorch or Triton."""
