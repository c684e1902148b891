// Classes of instructions that show how a kernel works.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sass/machine_code.hpp"

namespace gpuexp {

/// Instructions that a reader of machine code looks for together. An instruction can be in several
/// classes or in none. NVIDIA's CUDA Binary Utilities, "Instruction Set Reference", lists the
/// opcodes.
struct InstructionClass {
  /// What distinguishes members of the class; part of the name under which they are counted.
  enum class Detail {
    none,
    width,      ///< bits per lane: LDG.128
    operation,  ///< MUFU.EX2
    opcode,     ///< the whole opcode: HMMA.16816.F32.BF16 and IMMA.16832.S8.S8 in one class
  };

  std::string_view name;
  std::string_view mnemonics;  ///< separated by blanks; empty: any
  Detail detail;
  std::string_view doc;                             ///< the C++ or PTX that compiles to it
  bool (*is_member)(const Instruction&) = nullptr;  ///< selects among these mnemonics; null: all

  bool contains(const Instruction& instruction) const;
  /// Name under which a member is counted: the class's name with the instruction's detail.
  std::string name_of(const Instruction& instruction) const;
};

/// Classes in the order in which they are shown.
std::span<const InstructionClass> instruction_classes();

/// Bits that a load or store moves per lane: 8 for LDG.E.U8, 128 for LDS.128, 32 without a width.
int width_bits(const Instruction& instruction);

struct ClassCount {
  const InstructionClass* of;
  std::string name;  ///< with its detail
  int count;
};

/// Every class that occurs, in the order of instruction_classes(), shorter names first: LDG.32,
/// LDG.128.
std::vector<ClassCount> count_classes(const InstructionCounts& counts);

/// Number of instructions, including those in no class.
int total(const InstructionCounts& counts);

}  // namespace gpuexp
