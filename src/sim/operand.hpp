// Operands of machine code, read from the disassembler's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gpuexp::sim {

inline constexpr unsigned kLanes = 32;
inline constexpr std::uint8_t kZeroRegister = 255;  ///< RZ reads 0, and what it takes is lost
inline constexpr std::uint8_t kZeroUniformRegister = 255;  ///< URZ, likewise
inline constexpr std::uint8_t kTruePredicate = 7;          ///< PT and UPT

/// What an operand is made of, as it is listed and as it is executed.
struct OperandForm {
  enum class Kind : std::uint8_t {
    none,
    reg,                ///< R4, a register of each lane
    uniform,            ///< UR4, one of the warp
    predicate,          ///< P0
    uniform_predicate,  ///< UP0
    integer,            ///< 0x10, -0x1, an address of a branch
    real,               ///< 0.5, +INF
    constant,           ///< c[0x0][0x210], c[0x2][R5+0x60]
    memory,             ///< [R2.64+UR4+0x10]
    matrices,           ///< gdesc[UR4].tnspB, descriptors in uniform registers from there on
    special,            ///< SR_TID.X
    barrier,            ///< B0, a convergence barrier
    name,               ///< PR, gsb0 and other words
  };
  /// .H0_H0 and .H1_H1; of conversions of bytes, .B1 to .B3.
  enum class Half : std::uint8_t { both, low, high, byte1, byte2, byte3 };

  Kind kind = Kind::none;
  Half half = Half::both;
  std::uint8_t index = kZeroRegister;                 ///< of a register; the base of memory
  std::uint8_t uniform_index = kZeroUniformRegister;  ///< added to the base of memory
  bool negated = false;    ///< -R4, and ~R4 where `inverted` is set as well
  bool inverted = false;   ///< ~R4, !P0
  bool absolute = false;   ///< |R4|
  bool wide = false;       ///< R2.64: a pair of registers
  std::uint8_t shift = 0;  ///< 2 for R2.X4, the base of shared memory, in code before sm_90
  std::uint8_t bank = 0;   ///< of a constant
};

struct Operand : OperandForm {
  std::uint8_t descriptor = kZeroUniformRegister;  ///< UR4 of desc[UR4][…]
  bool has_base = false;                           ///< memory or constant: a register is added
  std::int64_t value = 0;                          ///< of an integer; an offset of memory
  double number = 0;                               ///< of a real
  std::string_view text;                           ///< as listed
};

/// The operands of an instruction, in order. Throws std::runtime_error for what is none.
std::vector<Operand> read_operands(std::string_view text);

/// The predicate of "@!P1" or "@UP0"; PT where there is none.
Operand read_guard(std::string_view guard);

}  // namespace gpuexp::sim
