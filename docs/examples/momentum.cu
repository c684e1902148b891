// A step of gradient descent with momentum: an example of checks of two in_out buffers.
//
//   gpuexp verify momentum.cu --simulate h200
//
// gpuexp: n = 2^20
// gpuexp: rate = 0.01
// gpuexp: momentum = 0.9
// gpuexp: in gradient[n] = normal
// gpuexp: in_out weights[n] = normal
// gpuexp: in_out velocity[n] = normal
// gpuexp: step<<<ceil_div(n, 256), 256>>>
// gpuexp: check velocity[i] = momentum*before(velocity[i]) + gradient[i]
// gpuexp: check weights[i] = before(weights[i]) - rate*(momentum*before(velocity[i]) + gradient[i])

__global__ void step(const float* gradient, float* weights, float* velocity, int n, float rate,
                     float momentum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float changed = momentum * velocity[i] + gradient[i];
  velocity[i] = changed;
  weights[i] -= rate * changed;
}
