#include "sass/issue_pipe.hpp"

#include <algorithm>
#include <iterator>

namespace gpuexp {

namespace {

struct PipeOfOpcode {
  std::string_view mnemonic;
  IssuePipe pipe;
};

// VIADD, a sum of two integers, uses the FMA pipes; IADD3, a sum of three integers, uses the ALU.
constexpr PipeOfOpcode kPipes[] = {
    {"FFMA", IssuePipe::fma},      {"FMUL", IssuePipe::fma},    {"FADD", IssuePipe::fma},
    {"IMAD", IssuePipe::fma},      {"HFMA2", IssuePipe::fma},   {"HMUL2", IssuePipe::fma},
    {"HADD2", IssuePipe::fma},     {"VIADD", IssuePipe::fma},

    {"IADD3", IssuePipe::alu},     {"LOP3", IssuePipe::alu},    {"SHF", IssuePipe::alu},
    {"LEA", IssuePipe::alu},       {"ISETP", IssuePipe::alu},   {"FSETP", IssuePipe::alu},
    {"HSETP2", IssuePipe::alu},    {"SEL", IssuePipe::alu},     {"FSEL", IssuePipe::alu},
    {"FMNMX", IssuePipe::alu},     {"HMNMX2", IssuePipe::alu},  {"VIMNMX", IssuePipe::alu},
    {"VIADDMNMX", IssuePipe::alu}, {"IABS", IssuePipe::alu},    {"PRMT", IssuePipe::alu},
    {"MOV", IssuePipe::alu},       {"PLOP3", IssuePipe::alu},   {"P2R", IssuePipe::alu},
    {"R2P", IssuePipe::alu},       {"R2UR", IssuePipe::alu},    {"CS2R", IssuePipe::alu},
    {"F2FP", IssuePipe::alu},      {"FCHK", IssuePipe::alu},    {"BMSK", IssuePipe::alu},
    {"SGXT", IssuePipe::alu},      {"I2FP", IssuePipe::alu},    {"VIMNMX3", IssuePipe::alu},
    {"VOTE", IssuePipe::alu},

    {"DFMA", IssuePipe::fp64},     {"DMUL", IssuePipe::fp64},   {"DADD", IssuePipe::fp64},
    {"DSETP", IssuePipe::fp64},

    {"MUFU", IssuePipe::xu},       {"F2F", IssuePipe::xu},      {"F2I", IssuePipe::xu},
    {"I2F", IssuePipe::xu},        {"FRND", IssuePipe::xu},     {"POPC", IssuePipe::xu},
    {"FLO", IssuePipe::xu},        {"BREV", IssuePipe::xu},

    {"LDG", IssuePipe::lsu},       {"STG", IssuePipe::lsu},     {"LD", IssuePipe::lsu},
    {"ST", IssuePipe::lsu},        {"LDL", IssuePipe::lsu},     {"STL", IssuePipe::lsu},
    {"LDS", IssuePipe::lsu},       {"STS", IssuePipe::lsu},     {"LDSM", IssuePipe::lsu},
    {"STSM", IssuePipe::lsu},      {"LDGSTS", IssuePipe::lsu},  {"ATOM", IssuePipe::lsu},
    {"ATOMG", IssuePipe::lsu},     {"ATOMS", IssuePipe::lsu},   {"RED", IssuePipe::lsu},
    {"REDG", IssuePipe::lsu},      {"SHFL", IssuePipe::lsu},    {"LDGDEPBAR", IssuePipe::lsu},
    {"MOVM", IssuePipe::lsu},

    {"HMMA", IssuePipe::tensor},   {"IMMA", IssuePipe::tensor}, {"DMMA", IssuePipe::tensor},
    {"BMMA", IssuePipe::tensor},   {"QMMA", IssuePipe::tensor},
};

bool is_unknown(std::string_view mnemonic) {
  return is_any_of(mnemonic, {"MATCH", "REDUX", "IDP", "VABSDIFF", "VABSDIFF4", "HSET2",
                              "IMNMX", "QSPC", "BMOV", "NANOSLEEP", "STAS", "REDAS",
                              // compute capability 10.0 and later
                              "IADD", "FMNMX3", "CREDUX"});
}

}  // namespace

std::string_view mnemonic_of(std::string_view opcode) {
  return opcode.substr(0, opcode.find('.'));
}

IssuePipe issue_pipe(std::string_view opcode, std::string_view operands) {
  const std::string_view mnemonic = mnemonic_of(opcode);
  // The tensor pipe executes HFMA2.MMA even if ptxas only produces a constant with it.
  if (opcode.starts_with("HFMA2.MMA")) return IssuePipe::tensor;
  // The load-store unit reads values that differ between lanes, such as the thread index.
  if (mnemonic == "S2R") {
    const bool differs =
        operands.find("SR_TID") != operands.npos || operands.find("SR_LANEID") != operands.npos;
    return differs ? IssuePipe::lsu : IssuePipe::other;
  }
  if (is_unknown(mnemonic)) return IssuePipe::unknown;
  const auto found = std::find_if(std::begin(kPipes), std::end(kPipes),
                                  [&](const PipeOfOpcode& p) { return p.mnemonic == mnemonic; });
  return found == std::end(kPipes) ? IssuePipe::other : found->pipe;
}

bool is_branch(std::string_view opcode) {
  return is_any_of(mnemonic_of(opcode), {"BRA", "BRX", "BSYNC", "CALL", "RET", "EXIT"});
}

bool is_load_store_without_access(std::string_view opcode) {
  return is_any_of(mnemonic_of(opcode), {"SHFL", "S2R", "LDGDEPBAR", "MOVM"});
}

}  // namespace gpuexp
