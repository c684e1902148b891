#include "sass/tensor_shape.hpp"

#include <array>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

std::string_view mnemonic_of_matrix(std::string_view opcode) {
  const std::string_view mnemonic = opcode.substr(0, opcode.find('.'));
  return mnemonic.ends_with("MMA") && mnemonic.size() < opcode.size() ? mnemonic
                                                                      : std::string_view{};
}

// Multiplies the extents of a shape such as "64x256x16" or "16x8x4".
double product_of_extents(std::string_view shape) {
  double product = 1;
  while (!shape.empty()) {
    const auto extent = take_number<int>(shape);
    if (!extent) return 0;
    product *= *extent;
    if (shape.starts_with('x')) shape.remove_prefix(1);
  }
  return product;
}

double product_of_digits(std::string_view shape) {
  constexpr std::pair<std::string_view, double> kShapes[] = {
      {"884", 8 * 8 * 4},      {"8816", 8 * 8 * 16},   {"8832", 8 * 8 * 32},
      {"1684", 16 * 8 * 4},    {"1688", 16 * 8 * 8},   {"16816", 16 * 8 * 16},
      {"16832", 16 * 8 * 32},  {"16864", 16 * 8 * 64}, {"168128", 16 * 8 * 128},
      {"168256", 16 * 8 * 256}};
  for (const auto& [name, multiply_adds] : kShapes) {
    if (shape == name) return multiply_adds;
  }
  return 0;
}

bool has_modifier(std::string_view opcode, std::string_view modifier) {
  for (std::size_t at = opcode.find('.'); at != opcode.npos; at = opcode.find('.', at + 1)) {
    if (opcode.substr(at + 1, opcode.find('.', at + 1) - at - 1) == modifier) return true;
  }
  return false;
}

}  // namespace

double tensor_multiply_adds(std::string_view opcode) {
  const std::string_view mnemonic = mnemonic_of_matrix(opcode);
  if (mnemonic.empty()) return 0;
  std::string_view shape = opcode.substr(mnemonic.size() + 1);
  shape = shape.substr(0, shape.find('.'));
  if (shape.find('x') == shape.npos) return product_of_digits(shape);
  constexpr double kWarpsOfGroup = 4;  // each of four warps computes a quarter of the product
  return product_of_extents(shape) / (mnemonic.ends_with("GMMA") ? kWarpsOfGroup : 1);
}

std::optional<Pipe> tensor_pipe(std::string_view opcode) {
  const std::string_view mnemonic = mnemonic_of_matrix(opcode);
  if (mnemonic.empty() || tensor_multiply_adds(opcode) == 0) return std::nullopt;
  if (mnemonic.starts_with("D")) return Pipe::tensor_fp64;
  if (mnemonic.starts_with("Q")) return Pipe::tensor_fp8_fp32;
  if (mnemonic.starts_with("I"))
    return has_modifier(opcode, "S8") || has_modifier(opcode, "U8")
               ? std::optional(Pipe::tensor_int8_int32)
               : std::nullopt;
  if (!mnemonic.starts_with("H")) return std::nullopt;
  if (has_modifier(opcode, "TF32")) return Pipe::tensor_tf32;
  if (has_modifier(opcode, "BF16")) return Pipe::tensor_bf16_fp32;
  return has_modifier(opcode, "F32") ? Pipe::tensor_fp16_fp32 : Pipe::tensor_fp16_fp16;
}

}  // namespace gpuexp
