// block_start: times between blocks in a block slot, between block starts on a GPU, and between
// kernels.
//
// The question: what does a large number of blocks cost? Each block only writes its number, so the
// time is the time to start and end blocks.
#include "kernels/common/family.cuh"

namespace gpuexp::block_start {

struct Problem {
  std::int64_t blocks;
};

struct Data {
  std::uint32_t* numbers;  ///< one per block
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the kernel of all variants

constexpr int kBlock = 32;

__global__ void __launch_bounds__(kBlock) number_kernel(std::uint32_t* numbers) {
  if (threadIdx.x == 0) numbers[blockIdx.x] = blockIdx.x;
}

// Unused dynamic shared memory limits the number of resident blocks.
Variant number(std::string id, std::int64_t (*shared_bytes)(const DeviceSpec&)) {
  Variant v(std::move(id));
  v.work = [](const Problem& p) { return streaming_work<std::uint32_t>(0, p.blocks); };
  v.launch = [shared_bytes](const Problem& p, const Data& d, const LaunchContext& x) {
    Shape s = shape_of_blocks(p.blocks, kBlock);
    s.dynamic_shared_bytes = shared_bytes(x.device);
    return launch(number_kernel, s, d.numbers);
  };
  return v;
}

// ---- one_resident: one resident block per SM
//
// Each block occupies all shared memory of an SM, so the next block starts only after it has ended.
// Time divided by the number of blocks per SM is the latency from one block to the next.

Variant one_resident() {
  return number("one_resident",
                [](const DeviceSpec& device) { return device.sm.shared_bytes_per_block; });
}

// ---- many_resident: as many resident blocks as fit
//
// This is one_resident without the shared memory. Many blocks are resident (active_warps_per_sm
// increases), so starts and ends overlap. The limit is the rate at which the work distributor
// starts blocks.

Variant many_resident() {
  return number("many_resident", [](const DeviceSpec&) { return std::int64_t{0}; })
      .against("one_resident", {{"active_warps_per_sm", Direction::increases, 1.5}});
}

// ---- one_per_kernel: one kernel per block
//
// Each block is a kernel of its own, which waits until the previous kernel has ended and its stores
// are visible. The time per kernel is the cost of each further launch in a stream, however fast the
// host submits launches, or of each further node of a graph.

constexpr std::int64_t kMaxKernels = 512;

__global__ void __launch_bounds__(kBlock)
    one_number_kernel(std::uint32_t* numbers, std::uint32_t number) {
  if (threadIdx.x == 0) numbers[number] = number;
}

Variant one_per_kernel() {
  Variant v = number("one_per_kernel", [](const DeviceSpec&) { return std::int64_t{0}; });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.blocks <= kMaxKernels) return std::nullopt;
    return "needs blocks <= " + std::to_string(kMaxKernels) + ": each block is one launch";
  };
  v.shown_at = {{"blocks", kMaxKernels}};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Steps steps;
    for (std::int64_t i = 0; i < p.blocks; ++i)
      steps += launch(one_number_kernel, shape_of_blocks(1, kBlock), d.numbers,
                      static_cast<std::uint32_t>(i));
    return steps;
  };
  return v;
}

// ---- the plain reference

struct Reference {
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {static_cast<double>(i), 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("block_start", Topic::limits, "What does a large number of blocks cost?");
  f.physics =
      "The work distributor assigns blocks to SMs as their block slots become free. A slot is "
      "empty from the last instruction of a block to the first instruction of the next one, while "
      "the block's resources are set up, and the distributor starts one block at a time. Long "
      "blocks hide both costs: with a grid-stride loop, each slot pays them once. Between two "
      "kernels all slots are empty: the second kernel starts when memory has accepted all stores "
      "of the first one.";
  f.extent("blocks", &Problem::blocks, 1 << 16, 1 << 24, "blocks of one warp");
  f.output("numbers", &Data::numbers, &Problem::blocks);
  // one_resident measures blocks that run one after the other, many_resident blocks that overlap.
  f.ceilings = {
      CeilingRows::latency("block_latency", {"one_resident"}, Mode::warm, "param.blocks")
          .times([](const DeviceSpec& d) { return 1.0 / d.sm_count; })
          .without_launch(),
      CeilingRows::rate("block_rate", {"many_resident"}, Mode::warm, "param.blocks")
          .without_launch(),
      CeilingRows::latency("kernel_latency", {"one_per_kernel"}, Mode::warm, "param.blocks")
          .without_launch()};
  f.inputs = [](const Problem&, const Data&, std::uint64_t) { return Steps(); };
  set_references(f, &Problem::blocks, [](const Problem&, const Data&, int) { return Reference{}; });
  f.tolerance_derivation = "Zero: each block writes its number.";
  f.variants(one_resident(), many_resident(), one_per_kernel());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::block_start
