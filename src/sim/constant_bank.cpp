#include "sim/constant_bank.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "sim/block.hpp"

namespace gpuexp::sim {

namespace {

// Offsets as machine code of ptxas 13.0 reads them; NVIDIA documents none. That of
// shared memory's window is read up to compute capability 8.9; later code asks SR_SWINHI.
constexpr std::size_t kBlockAt = 0x0;
constexpr std::size_t kSharedWindowAt = 0x18;
constexpr std::size_t kLocalWindowAt = 0x20;
constexpr std::size_t kStackAt = 0x28;
constexpr std::size_t kStackEnd = 0x2c;
// From compute capability 9.0 on. %clusterid is a block's place times a reciprocal, truncated: the
// nearest fp32 number gives whole places what they are for all sizes up to 16.
constexpr std::size_t kHasClustersAt = 0x140;
constexpr std::size_t kClusterSizeAt = 0x144;
constexpr std::size_t kReciprocalsAt = 0x150;
constexpr std::size_t kClustersAt = 0x15c;
constexpr std::size_t kClustersEnd = 0x168;
constexpr std::size_t kClusterBlocksAt = 0x188;
// The generic address of the parameters: instructions on tensor maps take it.
constexpr std::size_t kParametersAddressAt = 0x198;

std::size_t parameters_at(int compute_capability) {
  return compute_capability >= 90 ? 0x210 : 0x160;
}

// Of 8 bytes, given to accesses of global memory. The simulator needs none: zero will do.
std::size_t global_descriptor_at(int compute_capability) {
  return compute_capability >= 90 ? 0x208 : 0x118;
}

bool is_known(std::size_t offset, int compute_capability) {
  const std::size_t descriptor = global_descriptor_at(compute_capability);
  const bool is_of_hopper =
      compute_capability >= 90 &&
      ((offset >= kHasClustersAt && offset < kClustersEnd) || offset == kClusterBlocksAt ||
       offset == kParametersAddressAt || offset == kParametersAddressAt + sizeof(std::uint32_t));
  return is_of_hopper || offset < kStackEnd || (offset >= descriptor && offset < descriptor + 8) ||
         offset >= parameters_at(compute_capability);
}

// Of the arguments, and behind the last: each is aligned within the bank, not among the arguments.
std::vector<std::size_t> places_of(const PackedArguments& arguments, std::size_t begin) {
  std::vector<std::size_t> places;
  std::size_t end = begin;
  for (std::size_t i = 0; i < arguments.count(); ++i) {
    const std::size_t alignment = arguments.alignment(i);
    places.push_back((end + alignment - 1) / alignment * alignment);
    end = places.back() + arguments.size(i);
  }
  places.push_back(end);
  return places;
}

bool reads(const Program& program, std::size_t offset) {
  const std::string operand = fmt::format("c[0x0][{:#x}]", offset);
  return std::any_of(program.listed.begin(), program.listed.end(),
                     [&](const auto& i) { return i.operands.find(operand) != i.operands.npos; });
}

template <class Put>
void put_clusters(const Shape& shape, const Put& put) {
  const Extent& cluster = shape.cluster;
  put(kHasClustersAt, std::uint32_t{cluster.count() > 1});
  put(kClusterBlocksAt, static_cast<std::uint32_t>(cluster.count()));
  const std::array<std::pair<std::int64_t, std::int64_t>, 3> dimensions{
      {{shape.grid.x, cluster.x}, {shape.grid.y, cluster.y}, {shape.grid.z, cluster.z}}};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const auto [blocks, size] = dimensions[i];
    const std::size_t at = i * sizeof(std::uint32_t);
    put(kClusterSizeAt + at, static_cast<std::uint32_t>(size));
    put(kReciprocalsAt + at, 1.0f / static_cast<float>(size));
    put(kClustersAt + at, static_cast<std::uint32_t>(blocks / size));
  }
}

}  // namespace

void set_constants(LaunchState& launch, const KernelStep& step, int compute_capability) {
  const Shape& shape = step.shape;
  const std::size_t begin = parameters_at(compute_capability);
  const std::vector<std::size_t> places = places_of(step.arguments, begin);
  // Loads of 8 or 16 bytes may reach beyond the last argument.
  constexpr std::size_t kPadding = 16;
  std::vector<std::byte>& bank = launch.constants;
  bank.assign(places.back() + kPadding, std::byte{0});
  const auto put = [&](std::size_t at, const auto& value) {
    std::memcpy(bank.data() + at, &value, sizeof value);
  };
  const std::array<std::int64_t, 6> extents{shape.block.x, shape.block.y, shape.block.z,
                                            shape.grid.x,  shape.grid.y,  shape.grid.z};
  for (std::size_t i = 0; i < extents.size(); ++i)
    put(kBlockAt + i * sizeof(std::uint32_t), static_cast<std::uint32_t>(extents[i]));
  put(kSharedWindowAt, kSharedWindow);
  put(kLocalWindowAt, kLocalWindow);
  put(kStackAt, kLocalBytes);
  if (compute_capability >= 90) {
    put_clusters(shape, put);
    put(kParametersAddressAt, reinterpret_cast<std::uint64_t>(bank.data() + begin));
  }
  launch.tensor_maps.clear();
  for (std::size_t i = 0; i < step.arguments.count(); ++i) {
    std::memcpy(bank.data() + places[i], step.arguments.at(i), step.arguments.size(i));
    if (const TensorMap* const map = step.arguments.tensor_map(i))
      launch.tensor_maps.push_back({reinterpret_cast<std::uint64_t>(bank.data() + places[i]), map});
  }
}

std::span<std::byte> parameters_of(LaunchState& launch, int compute_capability) {
  return std::span(launch.constants).subspan(parameters_at(compute_capability));
}

bool reads_parameter_address(const Program& program) {
  return reads(program, kParametersAddressAt);
}

bool has_fixed_clusters(const Program& program) {
  const bool has_barrier =
      std::any_of(program.listed.begin(), program.listed.end(),
                  [](const auto& i) { return i.opcode.starts_with("UCGABAR"); });
  return has_barrier && !reads(program, kHasClustersAt);
}

std::string unknown_constant(const Program& program, int compute_capability) {
  for (const ListedInstruction& listed : program.listed) {
    for (const Operand& operand : read_operands(listed.operands)) {
      if (operand.kind != Operand::Kind::constant || operand.bank != 0) continue;
      if (is_known(static_cast<std::size_t>(operand.value), compute_capability)) continue;
      return fmt::format("{} {} at {:#x}: what constant bank 0 has there is not known",
                         listed.opcode, listed.operands, listed.address);
    }
  }
  return "";
}

}  // namespace gpuexp::sim
