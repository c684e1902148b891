#include "timing/schedule.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "device/hardware_sizes.hpp"
#include "sass/tensor_shape.hpp"
#include "timing/register_banks.hpp"

namespace gpuexp {

namespace {

std::string_view mnemonic_of_op(std::string_view opcode) {
  return opcode.substr(0, opcode.find('.'));
}

template <std::size_t kCount>
bool is_among(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// What waits for other agents than the SM's own pipes: its time is that of a protocol.
bool is_beyond(std::string_view mnemonic) {
  constexpr std::string_view kNames[] = {"SYNCS",   "UBLKCP",    "UBLKRED",     "UTMALDG",
                                         "UTMASTG", "UTMAREDG",  "HGMMA",       "IGMMA",
                                         "QGMMA",   "NANOSLEEP", "UCGABAR_ARV", "UCGABAR_WAIT"};
  return is_among(kNames, mnemonic);
}

// Results per clock and SM, from compute capability 7.0 on (CUDA C++ Programming Guide, table
// "Throughput of Native Arithmetic Instructions"). Where multiply-adds of fp32 have twice as many,
// half of the FMA lanes multiply integers.
constexpr double kIntegerProducts = 64;

IssuedTo issued_to(const ListedInstruction& listed, IssuePipe pipe) {
  const std::string_view mnemonic = mnemonic_of_op(listed.opcode);
  switch (pipe) {
    case IssuePipe::fma: return mnemonic == "IMAD" ? IssuedTo::fma_heavy : IssuedTo::fma;
    case IssuePipe::alu: return IssuedTo::alu;
    case IssuePipe::fp64: return IssuedTo::fp64;
    case IssuePipe::xu: return IssuedTo::xu;
    case IssuePipe::lsu: return IssuedTo::memory;
    case IssuePipe::tensor:
      return tensor_multiply_adds(listed.opcode) > 0 ? IssuedTo::tensor : IssuedTo::fma;
    default: return IssuedTo::none;
  }
}

double pipe_clocks(IssuedTo to, std::string_view opcode, const SmFigures& figures) {
  switch (to) {
    case IssuedTo::fma: return 2 * kSchedulersPerSm / figures.rates.fma;  // one of two halves
    case IssuedTo::fma_heavy: return kSchedulersPerSm * kWarpThreads / kIntegerProducts;
    case IssuedTo::alu: return kSchedulersPerSm / figures.rates.alu;
    case IssuedTo::fp64: return kSchedulersPerSm / figures.rates.fp64;
    case IssuedTo::xu: return kSchedulersPerSm / figures.rates.xu;
    case IssuedTo::tensor: {
      const auto pipe = tensor_pipe(opcode);
      const auto rate =
          pipe ? figures.tensor_operations[static_cast<std::size_t>(*pipe)] : std::nullopt;
      return rate ? kSchedulersPerSm * 2 * tensor_multiply_adds(opcode) / *rate : 0;
    }
    default: return 0;
  }
}

// "SB0, 0x1" of DEPBAR.LE.
void read_dependence(std::string_view operands, TimedOp& op) {
  op.kind = TimedOp::Kind::depends;
  if (operands.size() > 2 && operands.starts_with("SB"))
    op.scoreboard = static_cast<std::uint8_t>(operands[2] - '0');
  const std::size_t comma = operands.find("0x");
  if (comma == operands.npos) return;
  unsigned left = 0;
  const std::string_view digits = operands.substr(comma + 2);
  constexpr int kHexadecimal = 16;
  std::from_chars(digits.data(), digits.data() + digits.size(), left, kHexadecimal);
  op.left = static_cast<std::uint8_t>(left);
}

TimedOp timed(const ListedInstruction& listed, IssuePipe pipe, const SmFigures& figures) {
  constexpr std::string_view kGlobal[] = {"LDG", "STG",  "LD",   "ST",    "LDL",   "STL",
                                          "RED", "REDG", "ATOM", "ATOMG", "LDGSTS"};
  TimedOp op;
  op.control = control_of(listed.schedule);
  op.to = issued_to(listed, pipe);
  op.pipe_clocks = pipe_clocks(op.to, listed.opcode, figures);
  // MUFU and conversions between fp32 and fp64 take 17 and 18 clocks in chains on an H200.
  constexpr double kXuLatency = 17;
  op.latency = op.to == IssuedTo::xu ? kXuLatency : figures.shared_latency;
  const std::string_view mnemonic = mnemonic_of_op(listed.opcode);
  if (is_among(kGlobal, mnemonic)) {
    op.kind = TimedOp::Kind::global;
    op.result_wait = WarpState::long_scoreboard;
    op.copies = mnemonic == "LDGSTS";
    op.passes_l1 = listed.opcode.find(".BYPASS") != listed.opcode.npos ||
                   listed.opcode.find(".STRONG") != listed.opcode.npos;
  } else if (mnemonic == "LDGDEPBAR") {
    op.kind = TimedOp::Kind::commit;
    op.result_wait = WarpState::long_scoreboard;
  } else if (mnemonic == "DEPBAR") {
    read_dependence(listed.operands, op);
  } else if (op.to == IssuedTo::memory) {
    op.kind = TimedOp::Kind::shared;
  }
  return op;
}

}  // namespace

Schedule schedule_of(const sim::Program& program, const SmFigures& figures) {
  Schedule schedule;
  schedule.ops.reserve(program.ops.size());
  RegisterBanks banks;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const ListedInstruction& listed = program.listed[i];
    TimedOp op = timed(listed, program.classes[i].pipe, figures);
    const double operand_clocks = banks.clocks(program.ops[i], op.control);
    // Others have operands of several registers, and pipes that take them over several clocks.
    if (op.to == IssuedTo::fma || op.to == IssuedTo::fma_heavy || op.to == IssuedTo::alu)
      op.operand_clocks = operand_clocks;
    if (is_beyond(mnemonic_of_op(listed.opcode)) && schedule.refusal.empty())
      schedule.refusal =
          fmt::format("the time of {} is not modelled{}", mnemonic_of_op(listed.opcode),
                      sim::source_line(program, static_cast<std::uint32_t>(i), " at "));
    if (op.to == IssuedTo::tensor && op.pipe_clocks == 0 && schedule.refusal.empty())
      schedule.refusal = fmt::format("the rate of {} is not known", listed.opcode);
    schedule.ops.push_back(op);
  }
  return schedule;
}

}  // namespace gpuexp
