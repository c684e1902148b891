// block_start: how long a place on an SM stays empty between two blocks, how many blocks a GPU
// starts per second, and how long it stays empty between two kernels.
//
// The question: what does it cost to have many blocks? Blocks of this kernel do nothing but write
// their number, so that what is left is their coming and going: with one block per SM at a time the
// next one's start is waited for, and with many the rate at which the work distributor hands them
// out binds. A kernel for each block waits for the one before to end.
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

// ---- the kernel, the same for all variants

constexpr int kBlock = 32;

__global__ void __launch_bounds__(kBlock) number_kernel(std::uint32_t* numbers) {
  if (threadIdx.x == 0) numbers[blockIdx.x] = blockIdx.x;
}

// As many blocks fit on an SM as shared memory has room for; they do not use it.
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

// ---- one_resident
//
// Each block takes all of an SM's shared memory, so the next one on the SM starts after it has
// ended: time over rounds is what a change of blocks takes.

Variant one_resident() {
  return number("one_resident",
                [](const DeviceSpec& device) { return device.sm.shared_bytes_per_block; });
}

// ---- many_resident
//
// The same block without the shared memory: as many per SM as it holds, so that changes of blocks
// overlap and the rate at which blocks are handed out is what is left.

Variant many_resident() {
  return number("many_resident", [](const DeviceSpec&) { return std::int64_t{0}; })
      .against("one_resident", {{"active_warps_per_sm", Direction::increases, 1.5}});
}

// ---- one_per_kernel
//
// Each block is a kernel of its own, and each of these waits until the one before has ended and
// what it wrote is visible. Nothing of two kernels overlaps, so that a step is what launches of a
// stream cost beyond the first, however fast the host enqueues them; of a graph, a step between its
// nodes.

constexpr std::int64_t kMostKernels = 512;

__global__ void __launch_bounds__(kBlock)
    one_number_kernel(std::uint32_t* numbers, std::uint32_t number) {
  if (threadIdx.x == 0) numbers[number] = number;
}

Variant one_per_kernel() {
  Variant v = number("one_per_kernel", [](const DeviceSpec&) { return std::int64_t{0}; });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.blocks <= kMostKernels) return std::nullopt;
    return "needs blocks <= " + std::to_string(kMostKernels) + ", each of which is a launch";
  };
  v.shown_at = {{"blocks", kMostKernels}};
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
  Family f("block_start", Topic::limits, "What does it cost to have many blocks?");
  f.physics =
      "The work distributor hands blocks to SMs as their places become free. A place is empty from "
      "the last instruction of a block to the first of the next, while the block's resources are "
      "set up, and the distributor has one start at a time to give. Both are hidden by long "
      "blocks: a grid-stride loop pays once per place. Between two kernels all places are empty: "
      "the second starts when memory has taken all that the first has written.";
  f.extent("blocks", &Problem::blocks, 1 << 16, 1 << 24, "blocks of one warp");
  f.output("numbers", &Data::numbers, &Problem::blocks);
  // Without the shared memory blocks overlap; with it they come one after the other on each SM.
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
