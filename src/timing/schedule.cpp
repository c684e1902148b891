#include "timing/schedule.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "device/hardware_sizes.hpp"
#include "sass/tensor_shape.hpp"

namespace gpuexp {

namespace {

bool is_warpgroup_product(std::string_view mnemonic) {
  return is_any_of(mnemonic, {"HGMMA", "IGMMA", "QGMMA"});
}

// Integer products per cycle and SM, since compute capability 7.0 (CUDA C++ Programming Guide,
// table "Throughput of Native Arithmetic Instructions"). If the rate of fp32 multiply-adds is twice
// this rate, half of the FMA lanes multiply integers.
constexpr double kIntegerProducts = 64;
/// Cycles for which an instruction occupies half of the FMA lanes.
constexpr double kClocksOfHalf = kSchedulersPerSm * kWarpThreads / kIntegerProducts;

bool is_wide_product(std::string_view opcode) {
  return opcode.starts_with("IMAD.WIDE") || opcode.starts_with("IMAD.HI");
}

IssuedTo issued_to_fma(std::string_view opcode) {
  if (is_wide_product(opcode)) return IssuedTo::fma_wide;
  if (is_any_of(mnemonic_of(opcode), {"IMAD", "VIADD"}) || opcode.starts_with("HADD2.F32"))
    return IssuedTo::fma_heavy;
  return is_any_of(mnemonic_of(opcode), {"HFMA2", "HMUL2", "HADD2"}) ? IssuedTo::fma_both
                                                                    : IssuedTo::fma;
}

IssuedTo issued_to(const ListedInstruction& listed, IssuePipe pipe) {
  switch (pipe) {
    case IssuePipe::fma: return issued_to_fma(listed.opcode);
    case IssuePipe::alu: return IssuedTo::alu;
    case IssuePipe::fp64: return IssuedTo::fp64;
    case IssuePipe::xu: return IssuedTo::xu;
    case IssuePipe::lsu: return IssuedTo::memory;
    case IssuePipe::tensor: return IssuedTo::tensor;
    // Hardware counters count REDUX for no pipe. It has the rate of the XU
    // (docs/studies/instruction_issue).
    default: return listed.opcode.starts_with("REDUX") ? IssuedTo::xu : IssuedTo::none;
  }
}

double pipe_clocks(IssuedTo to, std::string_view opcode, const SmParameters& parameters) {
  switch (to) {
    // The FMA pipe has two halves.
    case IssuedTo::fma: return 2 * kSchedulersPerSm / parameters.rates.fma;
    case IssuedTo::fma_heavy:
    case IssuedTo::fma_both: return kClocksOfHalf;
    // A product of 64 bits takes two passes.
    case IssuedTo::fma_wide: return 2 * kClocksOfHalf;
    case IssuedTo::alu: return kSchedulersPerSm / parameters.rates.alu;
    case IssuedTo::fp64: return kSchedulersPerSm / parameters.rates.fp64;
    case IssuedTo::xu: return kSchedulersPerSm / parameters.rates.xu;
    case IssuedTo::tensor: {
      if (opcode.starts_with("HFMA2.MMA")) return kClocksOfHalf;
      const auto pipe = tensor_pipe(opcode);
      const auto& rates = is_warpgroup_product(mnemonic_of(opcode)) ? parameters.wgmma_operations
                                                                    : parameters.tensor_operations;
      const auto rate = pipe ? rates[static_cast<std::size_t>(*pipe)] : std::nullopt;
      return rate ? kSchedulersPerSm * 2 * tensor_multiply_adds(opcode) / *rate : 0;
    }
    default: return 0;
  }
}

// Parses "SB0, 0x1" of DEPBAR.LE and "gsb0, 0x1" of WARPGROUP.DEPBAR.LE.
void read_dependence(std::string_view operands, TimedOp& op) {
  if (operands.size() > 2 && operands.starts_with("SB"))
    op.scoreboard = static_cast<std::uint8_t>(operands[2] - '0');
  constexpr int kHexadecimal = 16;
  take_until(operands, "0x");
  op.left = static_cast<std::uint8_t>(take_number<unsigned>(operands, kHexadecimal).value_or(0));
}

// HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24, gsb0: A (64 rows of 32 bytes) and B (one row of 32
// bytes per column of D) are in shared memory. With R24, R68, gdesc[UR4], R24, A is in registers.
void read_product(const ListedInstruction& listed, const SmParameters& parameters, TimedOp& op) {
  constexpr double kRowBytes = 32;
  constexpr double kRowsOfA = 64;
  op.kind = TimedOp::Kind::product;
  op.to = IssuedTo::products;
  op.pipe_clocks = pipe_clocks(IssuedTo::tensor, listed.opcode, parameters);
  op.commits = listed.operands.find("gsb0") != listed.operands.npos;
  std::string_view shape = listed.opcode;
  take_until(shape, "64x");
  const unsigned columns = take_number<unsigned>(shape).value_or(0);
  const std::size_t second = listed.operands.find(',');
  op.a_in_registers =
      second != listed.operands.npos && listed.operands.find("gdesc", second) != second + 2;
  // Cycles until the warp's next instruction issues.
  constexpr unsigned kColumnsPerClock = 8;
  constexpr unsigned kMinClocks = 4;
  const unsigned clocks = std::max(2 * kMinClocks, columns / kColumnsPerClock) - kMinClocks;
  op.control.stall = std::max(op.control.stall, clocks);
  op.operand_wavefronts =
      (columns + (op.a_in_registers ? 0 : kRowsOfA)) * kRowBytes / kWavefrontBytes;
}

void read_asynchronous(const ListedInstruction& listed, const SmParameters& parameters,
                       TimedOp& op) {
  using Kind = TimedOp::Kind;
  using Moves = TimedOp::Moves;
  const std::string_view mnemonic = mnemonic_of(listed.opcode);
  const auto has = [&](std::string_view part) {
    return listed.opcode.find(part) != listed.opcode.npos;
  };
  const auto moves = [&](Moves what) {
    op.kind = Kind::bulk;
    op.moves = what;
  };
  op.is_tensor = mnemonic.starts_with("UTMA");
  if (mnemonic == "SYNCS" || mnemonic == "ARRIVES") {
    op.kind = has(".PHASECHK") ? Kind::phase_check : Kind::mbarrier;
    op.suspends = has(".TRYWAIT");
    op.awaits_copies = mnemonic == "ARRIVES";
    if (op.kind == Kind::phase_check) op.result_wait = WarpState::long_scoreboard;
  } else if (mnemonic == "UBLKCP") {
    moves(has(".G.S") ? Moves::to_global : has(".S.G") ? Moves::to_shared : Moves::within_cluster);
  } else if (mnemonic == "UBLKRED") {
    moves(has(".G.S") ? Moves::reduces : Moves::within_cluster);
  } else if (mnemonic == "UTMALDG") {
    moves(Moves::to_shared);
  } else if (mnemonic == "UTMASTG") {
    moves(Moves::to_global);
  } else if (mnemonic == "UTMAREDG") {
    moves(Moves::reduces);
  } else if (mnemonic == "UTMACMDFLUSH") {
    op.kind = Kind::bulk_commit;
    op.result_wait = WarpState::long_scoreboard;
  } else if (mnemonic == "STAS" || mnemonic == "REDAS") {
    op.kind = Kind::async_store;
  } else if (is_warpgroup_product(mnemonic)) {
    read_product(listed, parameters, op);
  } else if (mnemonic == "WARPGROUP" && has(".ARRIVE")) {
    op.kind = Kind::products_order;
  } else if (mnemonic == "WARPGROUP" && has(".DEPBAR")) {
    op.kind = Kind::products_wait;
    read_dependence(listed.operands, op);
  } else if (mnemonic == "BAR" || mnemonic == "UCGABAR_ARV") {
    op.may_end_barrier = true;
  } else if (mnemonic == "UCGABAR_WAIT") {
    op.kind = Kind::cluster_wait;
  } else if (mnemonic == "MEMBAR" && !has(".CTA")) {
    op.kind = Kind::fence;
  } else if (mnemonic == "CCTL" && has(".IVALL")) {
    op.kind = Kind::drop_l1;
  } else if (mnemonic == "EXIT") {
    op.exits = true;
  }
}

TimedOp timed(const ListedInstruction& listed, IssuePipe pipe, const SmParameters& parameters) {
  TimedOp op;
  op.control = control_of(listed.schedule);
  op.to = issued_to(listed, pipe);
  op.pipe_clocks = pipe_clocks(op.to, listed.opcode, parameters);
  // On an H200, MUFU and conversions between fp32 and fp64 take 17 and 18 cycles in dependent
  // chains.
  constexpr double kXuLatency = 17;
  op.latency = op.to == IssuedTo::xu ? kXuLatency : parameters.shared_latency;
  const std::string_view mnemonic = mnemonic_of(listed.opcode);
  if (is_any_of(mnemonic, {"LDG", "STG", "LD", "ST", "LDL", "STL", "RED", "REDG", "ATOM", "ATOMG",
                           "LDGSTS"})) {
    op.kind = TimedOp::Kind::global;
    op.result_wait = WarpState::long_scoreboard;
    op.copies = mnemonic == "LDGSTS";
    op.passes_l1 = listed.opcode.find(".BYPASS") != listed.opcode.npos ||
                   listed.opcode.find(".STRONG") != listed.opcode.npos;
  } else if (mnemonic == "LDGDEPBAR") {
    op.kind = TimedOp::Kind::commit;
    op.result_wait = WarpState::long_scoreboard;
  } else if (mnemonic == "DEPBAR") {
    op.kind = TimedOp::Kind::depends;
    read_dependence(listed.operands, op);
  } else if (op.to == IssuedTo::memory) {
    op.kind = TimedOp::Kind::shared;
    // ATOMS.POPC.INC counts the lanes of an address at once.
    op.serializes_lanes = mnemonic == "ATOMS" &&
                          listed.opcode.find(".POPC") == listed.opcode.npos &&
                          listed.opcode.find(".CAS") == listed.opcode.npos;
  } else {
    read_asynchronous(listed, parameters, op);
  }
  return op;
}

}  // namespace

Schedule schedule_of(const sim::Program& program, const SmParameters& parameters) {
  Schedule schedule;
  schedule.ops.reserve(program.ops.size());
  RegisterReuse reuse;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const ListedInstruction& listed = program.listed[i];
    TimedOp op = timed(listed, program.classes[i].pipe, parameters);
    const OperandReads reads =
        reuse.reads(program.ops[i], op.control, is_wide_product(listed.opcode));
    // Other pipes read operands of several registers over several cycles.
    const IssuePipe pipe = program.classes[i].pipe;
    if (pipe == IssuePipe::fma || pipe == IssuePipe::alu) op.reads = reads;
    const std::string_view mnemonic = mnemonic_of(listed.opcode);
    // The duration of NANOSLEEP is up to twice the given time.
    if (mnemonic == "NANOSLEEP" && schedule.refusal.empty())
      schedule.refusal =
          fmt::format("the time of {} is not modelled{}", mnemonic,
                      sim::source_line(program, static_cast<std::uint32_t>(i), " at "));
    const bool multiplies = op.to == IssuedTo::tensor || op.kind == TimedOp::Kind::product;
    if (multiplies && op.pipe_clocks == 0 && schedule.refusal.empty())
      schedule.refusal = fmt::format("the rate of {} is not known", listed.opcode);
    schedule.ops.push_back(op);
  }
  return schedule;
}

}  // namespace gpuexp
