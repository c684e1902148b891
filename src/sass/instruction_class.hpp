// Classes of instructions that show how a kernel works, for example its wide loads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sass/machine_code.hpp"

namespace gpuexp {

/// An instruction can be in several classes or in none. NVIDIA's CUDA Binary Utilities,
/// "Instruction Set Reference", lists the opcodes.
struct InstructionClass {
  /// Detail that distinguishes members of a class; it is part of the name of their counts.
  enum class Detail {
    none,
    width,      ///< bits per lane: LDG.128
    operation,  ///< MUFU.EX2
    /// Whole opcode, for a class with different opcodes: HMMA.16816.F32.BF16, IMMA.16832.S8.S8.
    opcode,
  };

  std::string_view name;
  std::string_view mnemonics;  ///< separated by blanks; empty: any
  Detail detail;
  std::string_view doc;  ///< C++ or PTX that compiles to the class
  /// Selects among instructions with these mnemonics; null: all.
  bool (*is_member)(const Instruction&) = nullptr;

  bool contains(const Instruction& instruction) const;
  /// Name of a member's count: the class's name and the detail, or the opcode for Detail::opcode.
  std::string name_of(const Instruction& instruction) const;
};

std::span<const InstructionClass> instruction_classes();

/// Bits that a load or store moves per lane: 8 for LDG.E.U8, 128 for LDS.128, 32 without a width.
int width_bits(const Instruction& instruction);

struct ClassCount {
  const InstructionClass* of;
  std::string name;
  int count;
};

/// Counts of the classes that occur, in the order of instruction_classes(). Within a class, shorter
/// names are first: LDG.32, LDG.128.
std::vector<ClassCount> count_classes(const InstructionCounts& counts);

int total(const InstructionCounts& counts);

}  // namespace gpuexp
