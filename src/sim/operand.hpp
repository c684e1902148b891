// Operands of machine code, parsed from the disassembler's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuexp::sim {

inline constexpr unsigned kLanes = 32;
inline constexpr std::uint8_t kZeroRegister = 255;         ///< RZ: reads 0, ignores writes
inline constexpr std::uint8_t kZeroUniformRegister = 255;  ///< URZ: reads 0, ignores writes
inline constexpr std::uint8_t kTruePredicate = 7;          ///< PT and UPT

/// Form of an operand, in the listing and in execution.
struct OperandForm {
  enum class Kind : std::uint8_t {
    none,
    reg,                ///< R4, one value per lane
    uniform,            ///< UR4, one value per warp
    predicate,          ///< P0
    uniform_predicate,  ///< UP0
    integer,            ///< 0x10, -0x1, a branch target
    real,               ///< 0.5, +INF
    constant,           ///< c[0x0][0x210], c[0x2][R5+0x60]
    memory,             ///< [R2.64+UR4+0x10]
    matrices,           ///< gdesc[UR4].tnspB, descriptors in consecutive uniform registers
    special,            ///< SR_TID.X
    barrier,            ///< B0, a convergence barrier
    name,               ///< PR, gsb0 and other words
  };
  /// Part of a register: .H0_H0 and .H1_H1, or .B1 to .B3 in conversions of bytes.
  enum class Half : std::uint8_t { both, low, high, byte1, byte2, byte3 };

  Kind kind = Kind::none;
  Half half = Half::both;
  std::uint8_t index = kZeroRegister;                 ///< register, or base register of an address
  std::uint8_t uniform_index = kZeroUniformRegister;  ///< added to the base of an address
  bool negated = false;                               ///< -R4
  bool inverted = false;                              ///< ~R4, !P0
  bool absolute = false;                              ///< |R4|
  bool wide = false;                                  ///< R2.64: a pair of registers
  std::uint8_t shift = 0;  ///< left shift of the base: 2 for R2.X4, in code before sm_90
  std::uint8_t bank = 0;
};

struct Operand : OperandForm {
  std::uint8_t descriptor = kZeroUniformRegister;  ///< UR4 in desc[UR4][…]
  bool has_base = false;                           ///< memory or constant with a base register
  std::int64_t value = 0;
  double number = 0;
  std::string_view text;
};

/// Parses the operands of an instruction. Throws std::runtime_error if a text is not an operand.
std::vector<Operand> read_operands(std::string_view text);

/// Parses the predicate of "@!P1" or "@UP0"; PT if the guard is empty. Throws std::runtime_error
/// for other text.
Operand read_guard(std::string_view guard);

}  // namespace gpuexp::sim
