// Kernels on the CPU and the GPU, compared bit by bit. Run one family with `-c <family>`.
#include <cstring>
#include <map>

#include <cuda_runtime_api.h>

#include "family/registry.hpp"
#include "gpu/both_executors.hpp"
#include "run/compared_elements.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

/// Number of elements that two executions computed, and of those that differ bitwise.
struct Agreement {
  std::size_t elements = 0;
  std::size_t differ = 0;
  std::string first;  ///< difference
};

/// Variants that may differ, with the reason.
const std::map<std::string, std::string>& not_bit_equal() {
  static const std::string approximate =
      "ex2, lg2, sin and others are approximate, and their tables are the hardware's";
  static const std::map<std::string, std::string> reasons{
      {"atomics/float_global", "a sum of floats in the order in which they arrive"},
      {"attention/async_tiles", approximate},
      {"attention/lazy_rescale", approximate},
      {"attention/mask_edges", approximate},
      {"attention/materialized", approximate},
      {"attention/online_tiles", approximate},
      {"attention/scalar_tile", approximate},
      {"attention/skip_hidden", approximate},
      {"attention/split_queries", approximate},
      {"attention_decode/per_head", approximate},
      {"attention_decode/shared_keys", approximate},
      {"attention_decode/split_keys", approximate},
      {"attention_backward/recompute_atomics", "a sum of floats in the order in which they arrive"},
      {"attention_backward/tiles_ahead", "a sum of floats in the order in which they arrive"},
      {"attention_backward/two_pass", approximate},
      {"backward/slices_atomic", "a sum of floats in the order in which they arrive"},
      {"backward/vectors_atomic", "a sum of floats in the order in which they arrive"},
      {"checkpointing/layers", approximate},
      {"checkpointing/segments", approximate},
      {"cross_entropy/backward", approximate},
      {"cross_entropy/forward", approximate},
      {"cross_entropy/forward_scalar", approximate},
      {"cross_entropy/fused_registers", approximate},
      {"cross_entropy/fused_reread", approximate},
      {"cross_entropy/ops", approximate},
      {"cross_entropy/separate", approximate},
      {"epilogue/fused", approximate},
      {"epilogue/ops", approximate},
      {"epilogue/product_epilogue", approximate},
      {"epilogue/product_fused", approximate},
      {"epilogue/product_ops", approximate},
      {"fusion/fused", approximate},
      {"fusion/fused_chains", approximate},
      {"fusion/fused_intrinsics", approximate},
      {"fusion/fused_scalar", approximate},
      {"fusion/ops", approximate},
      {"fusion/ops_chunks", approximate},
      {"fusion/ops_in_place", approximate},
      {"fusion/ops_scalar", approximate},
      {"gelu_backward/one_kernel", approximate},
      {"gelu_backward/two_kernels", approximate},
      {"hierarchy/inputs", "a chain of addresses"},
      {"latency/inputs", "a chain of addresses"},
      {"loss_scaling/inputs", approximate},
      {"mixed_precision/fp32", approximate},
      {"mixed_precision/fp32_scalar", approximate},
      {"normalization/cluster", approximate},
      {"normalization/one_wait", approximate},
      {"normalization/persistent", approximate},
      {"normalization/registers", approximate},
      {"normalization/sums", approximate},
      {"normalization/two_pass", approximate},
      {"normalization/vectors", approximate},
      {"normalization/warp_registers", approximate},
      {"normalization/welford", approximate},
      {"normalization_backward/block_atomics", "a sum of floats in the order in which they arrive"},
      {"normalization_backward/element_atomics",
       "a sum of floats in the order in which they arrive"},
      {"recomputation/backward_recomputed", approximate},
      {"recomputation/forward", approximate},
      {"recomputation/forward_from_first", approximate},
      {"recomputation/forward_stored", approximate},
      {"recomputation/ops", approximate},
      {"recomputation/recomputed", approximate},
      {"recomputation/stored", approximate},
      {"recomputation/stored_two", approximate},
      {"residual_norm/add_then_norm", approximate},
      {"residual_norm/fused", approximate},
      {"softmax/bulk_ring", approximate},
      {"softmax/cluster", approximate},
      {"softmax/cluster_shared", approximate},
      {"softmax/lane_groups", approximate},
      {"softmax/naive", approximate},
      {"softmax/one_wait", approximate},
      {"softmax/online", approximate},
      {"softmax/peeled", approximate},
      {"softmax/registers", approximate},
      {"softmax/stored_registers", approximate},
      {"softmax/three_pass", approximate},
      {"softmax/vectors", approximate},
      {"softmax/warp_per_row", approximate},
      {"softmax/warp_registers", approximate},
      {"spmv/coo_atomics", "a sum of floats in the order in which they arrive"},
      {"training_block/fused", approximate},
      {"training_block/fused_first", approximate},
      {"training_block/fused_graph", approximate},
      {"training_block/fused_one_by_one", approximate},
      {"training_block/fused_recompute", approximate},
      {"training_block/separate", approximate},
      {"training_step/fused", approximate},
      {"training_step/fused_first", approximate},
      {"training_step/fused_graph", approximate},
      {"training_step/fused_one_by_one", approximate},
      {"training_step/fused_recompute", approximate},
      {"training_step/separate", approximate},
  };
  return reasons;
}

std::vector<std::byte> on_host(const GuardedMemory& memory) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(memory.bytes()));
  if (!bytes.empty())
    GPUEXP_CUDA(cudaMemcpy(bytes.data(), memory.image(), bytes.size(), cudaMemcpyDefault));
  return bytes;
}

void compare(const Buffer& buffer, DataType type, std::span<const std::byte> gpu,
             std::span<const std::byte> cpu, Agreement& agreement) {
  REQUIRE(gpu.size() == cpu.size());
  const std::size_t size = size_of(type);
  for (std::size_t at = 0; at < gpu.size(); at += size) {
    ++agreement.elements;
    if (std::memcmp(&gpu[at], &cpu[at], size) == 0) continue;
    if (agreement.differ++ > 0) continue;
    agreement.first =
        buffer.name + "[" + std::to_string(at / size) + "]: GPU " +
        std::to_string(to_double(reinterpret_cast<const unsigned char*>(&gpu[at]), type)) +
        ", CPU " +
        std::to_string(to_double(reinterpret_cast<const unsigned char*>(&cpu[at]), type));
  }
}

void test_problem(BothExecutors& both, std::map<std::string, Agreement>& agreements) {
  const Family& family = both.family;
  const auto compare_buffers = [&](BufferRole role, const Variant* variant, Agreement& agreement) {
    both.gpu.copy().pull(both.stream);
    both.stream.synchronize();
    for (std::size_t i = 0; i < family.buffers.size(); ++i) {
      const Buffer& buffer = family.buffers[i];
      const bool requested =
          variant ? is_output(buffer.role) && variant->fills(buffer.name) : buffer.role == role;
      if (requested)
        compare(buffer, buffer.type(both.cpu.problem()), on_host(both.gpu.copy().buffers()[i]),
                both.cpu.buffer(i), agreement);
    }
  };
  compare_buffers(BufferRole::input, nullptr, agreements["inputs"]);
  both.for_each_variant([&](const Variant& variant) {
    both.gpu.copy().poison(poisoned_before(family, variant), both.stream);
    both.gpu.reset(variant, Mode::warm);
    both.gpu.enqueue(variant, Mode::warm);
    both.cpu.poison(variant);
    both.cpu.launch(variant);
    compare_buffers(BufferRole::output, &variant, agreements[variant.id]);
  });
}

TEST_CASE("CPU and GPU results are bitwise identical", "[simulated]") {
  if (built_kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const Family& family : Registry::global().families()) {
    if (family.gpus) continue;  // each rank needs its own process
    DYNAMIC_SECTION(family.id) {
      std::map<std::string, Agreement> agreements;
      for_small_problems(family, [&](BothExecutors& both) { test_problem(both, agreements); });
      for (const auto& [variant, agreement] : agreements) {
        const std::string name = family.id + "/" + variant;
        INFO(name << ": " << agreement.differ << " of " << agreement.elements
                  << " elements differ; " << agreement.first);
        CHECK((agreement.differ > 0) == (not_bit_equal().count(name) > 0));
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
