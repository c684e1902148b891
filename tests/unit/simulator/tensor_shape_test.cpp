// Operations of tensor-core instructions, from their modifiers.
#include "sass/tensor_shape.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("shapes determine multiply-adds of tensor instructions", "[tensor_shape]") {
  CHECK(tensor_multiply_adds("HMMA.16816.F32.BF16") == 2048);
  CHECK(tensor_multiply_adds("DMMA.884") == 256);
  CHECK(tensor_multiply_adds("DMMA.8x8x4") == 256);
  CHECK(tensor_multiply_adds("DMMA.16x8x16") == 2048);
  CHECK(tensor_multiply_adds("HGMMA.64x256x16.F32.BF16") == 65536);
  CHECK(tensor_multiply_adds("HFMA2.MMA") == 0);
  CHECK(tensor_multiply_adds("FFMA") == 0);
}

TEST_CASE("types determine pipes of tensor instructions", "[tensor_shape]") {
  CHECK(tensor_pipe("HMMA.16816.F32.BF16") == Pipe::tensor_bf16_fp32);
  CHECK(tensor_pipe("HMMA.16816.F32") == Pipe::tensor_fp16_fp32);
  CHECK(tensor_pipe("HMMA.16816.F16") == Pipe::tensor_fp16_fp16);
  CHECK(tensor_pipe("HMMA.1688.F32.TF32") == Pipe::tensor_tf32);
  CHECK(tensor_pipe("DMMA.16x8x16") == Pipe::tensor_fp64);
  CHECK(tensor_pipe("IMMA.16832.S8.S8") == Pipe::tensor_int8_int32);
  CHECK(tensor_pipe("QGMMA.64x256x32.F32.E4M3.E4M3") == Pipe::tensor_fp8_fp32);
  CHECK_FALSE(tensor_pipe("BMMA.88128.XOR.POPC"));
  CHECK_FALSE(tensor_pipe("HFMA2.MMA"));
  CHECK_FALSE(tensor_pipe("FFMA"));
}

}  // namespace
}  // namespace gpuexp::test
