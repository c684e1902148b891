#include "sim/constant_bank.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/block.hpp"

namespace gpuexp::sim {

namespace {

/// Offsets that machine code of ptxas 13.0 reads; NVIDIA does not document them.
struct Layout {
  std::size_t block;
  std::size_t grid;
  /// Used up to compute capability 8.9; later code reads SR_SWINHI instead.
  std::optional<std::size_t> shared_window;
  std::size_t local_window;
  std::size_t stack;
  /// %dynamic_smem_size
  std::size_t dynamic_shared;
  /// SR_SMEMSZ minus %total_smem_size: shared memory that the system reserves.
  std::size_t not_own_shared;
  /// %reserved_smem_offset_1: shared memory in which cooperative groups keep the barriers and
  /// values of tiles of several warps.
  std::size_t group_memory;
  /// 8 bytes that accesses to global memory use as a descriptor. The simulator ignores them.
  std::size_t global_descriptor;
  std::size_t parameters;
  struct Clusters {
    std::size_t any;  ///< whether the launch has clusters
    std::size_t size;
    /// Code computes %clusterid as a block's coordinate times a reciprocal, truncated. The nearest
    /// fp32 value gives the right integers for all sizes up to 16.
    std::size_t reciprocals;
    std::size_t clusters;
    std::size_t blocks;
    /// Generic address of the parameters, used by instructions on tensor maps.
    std::size_t parameters_address;
  };
  std::optional<Clusters> clusters;
};

constexpr Layout kLayout80{0x0,   0xc,   0x18,  0x20,  0x28,        0x2c,
                           0x114, 0x124, 0x118, 0x160, std::nullopt};
constexpr Layout kLayout90{0x0,
                           0xc,
                           std::nullopt,
                           0x20,
                           0x28,
                           0x2c,
                           0x114,
                           0x6c,
                           0x208,
                           0x210,
                           Layout::Clusters{0x140, 0x144, 0x150, 0x15c, 0x188, 0x198}};
// Code reads the cluster size and other values from tables, indexed by SR_CgaSize. The simulator's
// tables have one entry.
constexpr Layout kLayout100{0x360,
                            0x370,
                            std::nullopt,
                            0x2f8,
                            0x37c,
                            0x2ac,
                            0x16c,
                            0x27c,
                            0x358,
                            0x380,
                            Layout::Clusters{0x36c, 0x2a0, 0x2b0, 0x2c0, 0x2cc, 0x348}};

const Layout& layout_of(int compute_capability) {
  return compute_capability >= 100 ? kLayout100 : compute_capability >= 90 ? kLayout90 : kLayout80;
}

constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr std::size_t kDimensions = 3;

bool is_known(std::size_t offset, const Layout& layout) {
  const auto is_in = [&](std::size_t begin, std::size_t words) {
    return offset >= begin && offset < begin + words * kWord;
  };
  const bool is_cluster_value =
      layout.clusters &&
      (is_in(layout.clusters->any, 1) || is_in(layout.clusters->size, kDimensions) ||
       is_in(layout.clusters->reciprocals, kDimensions) ||
       is_in(layout.clusters->clusters, kDimensions) || is_in(layout.clusters->blocks, 1) ||
       is_in(layout.clusters->parameters_address, 2));
  return is_cluster_value || is_in(layout.block, kDimensions) || is_in(layout.grid, kDimensions) ||
         (layout.shared_window && is_in(*layout.shared_window, 2)) ||
         is_in(layout.local_window, 2) || is_in(layout.stack, 1) ||
         is_in(layout.dynamic_shared, 1) || is_in(layout.not_own_shared, 1) ||
         is_in(layout.group_memory, 1) || is_in(layout.global_descriptor, 2) ||
         offset >= layout.parameters;
}

// Offsets of the arguments and of their end, aligned relative to the start of the bank.
std::vector<std::size_t> parameter_offsets(const PackedArguments& arguments, std::size_t begin) {
  std::vector<std::size_t> offsets;
  std::size_t end = begin;
  for (std::size_t i = 0; i < arguments.count(); ++i) {
    const std::size_t alignment = arguments.alignment(i);
    offsets.push_back((end + alignment - 1) / alignment * alignment);
    end = offsets.back() + arguments.size(i);
  }
  offsets.push_back(end);
  return offsets;
}

// Also in a table whose index is in a register: "c[0x0][R5+0x27c]".
bool reads_at(const Program& program, std::size_t offset) {
  const std::string last = fmt::format("{:#x}]", offset);
  return std::any_of(program.listed.begin(), program.listed.end(), [&](const auto& i) {
    return i.operands.find("c[0x0][") != i.operands.npos &&
           (i.operands.find("[" + last) != i.operands.npos ||
            i.operands.find("+" + last) != i.operands.npos);
  });
}

bool reads(const Program& program, std::size_t offset) {
  const std::string operand = fmt::format("c[0x0][{:#x}]", offset);
  return std::any_of(program.listed.begin(), program.listed.end(),
                     [&](const auto& i) { return i.operands.find(operand) != i.operands.npos; });
}

template <class Put>
void put_extent(const Extent& extent, std::size_t at, const Put& put) {
  const std::array<std::int64_t, kDimensions> sizes{extent.x, extent.y, extent.z};
  for (std::size_t i = 0; i < kDimensions; ++i)
    put(at + i * kWord, static_cast<std::uint32_t>(sizes[i]));
}

template <class Put>
void put_clusters(const Shape& shape, const Layout::Clusters& at, const Put& put) {
  const Extent& cluster = shape.cluster;
  put(at.any, std::uint32_t{cluster.count() > 1});
  put(at.blocks, static_cast<std::uint32_t>(cluster.count()));
  put_extent(cluster, at.size, put);
  const Extent& grid = shape.grid;
  put_extent({grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z}, at.clusters, put);
  const std::array<std::int64_t, kDimensions> sizes{cluster.x, cluster.y, cluster.z};
  for (std::size_t i = 0; i < kDimensions; ++i)
    put(at.reciprocals + i * kWord, 1.0f / static_cast<float>(sizes[i]));
}

}  // namespace

void set_constants(LaunchState& launch, const KernelStep& step, int compute_capability) {
  const Shape& shape = step.shape;
  const Layout& layout = layout_of(compute_capability);
  const std::vector<std::size_t> offsets = parameter_offsets(step.arguments, layout.parameters);
  // Loads of 8 or 16 bytes may extend past the last argument.
  constexpr std::size_t kPadding = 16;
  std::vector<std::byte>& bank = launch.constants;
  bank.assign(offsets.back() + kPadding, std::byte{0});
  const auto put = [&](std::size_t at, const auto& value) {
    std::memcpy(bank.data() + at, &value, sizeof value);
  };
  put_extent(shape.block, layout.block, put);
  put_extent(shape.grid, layout.grid, put);
  if (layout.shared_window) put(*layout.shared_window, kSharedWindow);
  put(layout.local_window, kLocalWindow);
  put(layout.stack, kLocalBytes);
  put(layout.dynamic_shared, static_cast<std::uint32_t>(shape.dynamic_shared_bytes));
  const std::size_t reserved = reserved_shared_bytes(compute_capability);
  const bool adds = launch.group_memory && *launch.group_memory >= reserved;
  put(layout.not_own_shared, static_cast<std::uint32_t>(reserved + (adds ? kGroupMemoryBytes : 0)));
  if (launch.group_memory)
    put(layout.group_memory, static_cast<std::uint32_t>(*launch.group_memory));
  if (layout.clusters) {
    put_clusters(shape, *layout.clusters, put);
    put(layout.clusters->parameters_address,
        reinterpret_cast<std::uint64_t>(bank.data() + layout.parameters));
  }
  launch.tensor_maps.clear();
  for (std::size_t i = 0; i < step.arguments.count(); ++i) {
    std::memcpy(bank.data() + offsets[i], step.arguments.at(i), step.arguments.size(i));
    if (const TensorMap* const map = step.arguments.tensor_map(i))
      launch.tensor_maps.push_back(
          {reinterpret_cast<std::uint64_t>(bank.data() + offsets[i]), map});
  }
}

Fault unknown_variable() {
  return Fault("the address of a global variable (constant bank 4) is not known");
}

std::vector<Op> with_constants(const LaunchState& launch) {
  std::vector<Op> ops = launch.program->ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const ListedInstruction& listed = launch.program->listed[i];
    if (loads_constants(listed.opcode)) continue;
    for (Source& from : ops[i].from) {
      if (from.kind != Operand::Kind::constant) continue;
      const std::span<const std::byte> bytes = launch.constant_bank(from.bank);
      if (from.bank == kAddressBank && bytes.empty()) {
        ops[i].run = [](Warp&, const Op&, LaneMask) { throw unknown_variable(); };
        from = {};
        continue;
      }
      if (from.bits + kWord > bytes.size())
        throw std::runtime_error(fmt::format("{} reads outside of constant bank {}, at {:#x}",
                                             listed.opcode, from.bank, from.bits));
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + from.bits,
                  std::min(sizeof value, bytes.size() - from.bits));
      from.kind = Operand::Kind::integer;
      from.bits = value;
    }
  }
  return ops;
}

std::size_t reserved_shared_bytes(int compute_capability) {
  return compute_capability >= 90 ? 1024 : 0;
}

bool uses_group_memory(const Program& program, int compute_capability) {
  return reads_at(program, layout_of(compute_capability).group_memory);
}

void add_group_memory(LaunchState& launch, int compute_capability) {
  const std::size_t reserved = reserved_shared_bytes(compute_capability);
  if (reserved > 0) {
    launch.group_memory = reserved - kGroupMemoryBytes;
    return;
  }
  constexpr std::size_t kAlignment = 16;
  launch.group_memory = (launch.shared_bytes + kAlignment - 1) / kAlignment * kAlignment;
  launch.shared_bytes = *launch.group_memory + kGroupMemoryBytes;
}

bool has_fixed_clusters(const Program& program, int compute_capability) {
  const bool has_barrier =
      std::any_of(program.listed.begin(), program.listed.end(),
                  [](const auto& i) { return i.opcode.starts_with("UCGABAR"); });
  const Layout& layout = layout_of(compute_capability);
  return has_barrier && !(layout.clusters && reads(program, layout.clusters->any));
}

std::string unknown_constant(const Program& program, int compute_capability) {
  const Layout& layout = layout_of(compute_capability);
  for (const ListedInstruction& listed : program.listed) {
    for (const Operand& operand : read_operands(listed.operands)) {
      // Indexed reads are not checked: their offset may be below the parameters that they access.
      if (operand.kind != Operand::Kind::constant || operand.bank != 0 ||
          operand.index != kZeroRegister)
        continue;
      if (is_known(static_cast<std::size_t>(operand.value), layout)) continue;
      return fmt::format("{} {} at {:#x}: the content of constant bank 0 at this offset is unknown",
                         listed.opcode, listed.operands, listed.address);
    }
  }
  return "";
}

}  // namespace gpuexp::sim
