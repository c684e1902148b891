#include "sim/constant_bank.hpp"

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

std::size_t parameters_at(int compute_capability) {
  return compute_capability >= 90 ? 0x210 : 0x160;
}

// Of 8 bytes, given to accesses of global memory. The simulator needs none: zero will do.
std::size_t global_descriptor_at(int compute_capability) {
  return compute_capability >= 90 ? 0x208 : 0x118;
}

bool is_known(std::size_t offset, int compute_capability) {
  const std::size_t descriptor = global_descriptor_at(compute_capability);
  return offset < kStackEnd || (offset >= descriptor && offset < descriptor + 8) ||
         offset >= parameters_at(compute_capability);
}

}  // namespace

std::vector<std::byte> constant_bank(const KernelStep& step, int compute_capability) {
  const Shape& shape = step.shape;
  const std::size_t begin = parameters_at(compute_capability);
  const std::vector<std::byte>& arguments = step.arguments.bytes();
  // Loads of 8 or 16 bytes may reach beyond the last argument.
  constexpr std::size_t kPadding = 16;
  std::vector<std::byte> bank(begin + arguments.size() + kPadding);
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
  if (!arguments.empty()) std::memcpy(bank.data() + begin, arguments.data(), arguments.size());
  return bank;
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
