#include "sim/poll_loops.hpp"

#include <algorithm>
#include <bitset>

#include "sass/issue_pipe.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

/// Registers of the lanes and of the warp, and predicates of both.
using Places = std::bitset<256 + 256 + 8 + 8>;

void add(Places& places, const Source& source, unsigned count = 1) {
  if (source.wide) count = 2;
  const auto set = [&](unsigned begin, unsigned index, unsigned none) {
    for (unsigned i = index; i < std::min(index + count, none); ++i)
      places.set(begin + i);
  };
  switch (source.kind) {
    case Kind::memory:
      set(0, source.index, kZeroRegister);
      set(256, source.uniform_index, kZeroUniformRegister);
      break;
    case Kind::reg: set(0, source.index, kZeroRegister); break;
    case Kind::uniform: set(256, source.index, kZeroUniformRegister); break;
    case Kind::predicate: set(512, source.index, kTruePredicate); break;
    case Kind::uniform_predicate: set(520, source.index, kTruePredicate); break;
    default: break;
  }
}

Places written_by(const Program& program, std::size_t at) {
  Places places;
  for (const Source& to : program.ops[at].to) {
    const bool is_predicate = to.kind == Kind::predicate || to.kind == Kind::uniform_predicate;
    add(places, to, is_predicate ? 1 : max_registers_written(program.listed[at].opcode));
  }
  return places;
}

Places read_by(const Op& op) {
  Places places;
  add(places, op.guard);
  for (const Source& from : op.from)
    add(places, from);
  return places;
}

std::string_view mnemonic_at(const Program& program, std::size_t at) {
  return mnemonic_of(program.listed[at].opcode);
}

bool stores(std::string_view mnemonic) {
  return is_any_of(mnemonic, {"ST", "STS", "STG", "STL", "STSM", "RED", "REDG", "ATOMG", "LDGSTS",
                              "BAR", "CALL", "SYNCS", "UBLKCP", "UTMALDG", "UTMASTG"});
}

bool may_leave_unchanged(const Program& program, std::size_t at) {
  const Op& op = program.ops[at];
  const std::string_view opcode = program.listed[at].opcode;
  return opcode.find(".CAS") != opcode.npos || opcode.find(".EXCH") != opcode.npos ||
         (op.from[1].kind == Kind::reg && op.from[1].index == kZeroRegister);
}

bool is_candidate(const Program& program, std::size_t at) {
  const Op& op = program.ops[at];
  const std::string_view mnemonic = mnemonic_at(program, at);
  const bool never_executes = op.guard.index == kTruePredicate && op.guard.inverted;
  if (never_executes || op.to[0].kind != Kind::reg || op.to[0].index == kZeroRegister) return false;
  if (is_any_of(mnemonic, {"ATOMS", "ATOM"})) return may_leave_unchanged(program, at);
  return mnemonic == "LDS" ||
         (mnemonic == "LD" && program.listed[at].opcode.find(".STRONG") != std::string_view::npos);
}

bool is_conditional(const Op& branch) {
  return branch.guard.index != kTruePredicate || branch.from[0].kind != Kind::none;
}

struct Loop {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< after its last branch
};

// Whether a branch, or an exit, of the loop depends on the value that the instruction returns.
bool decides(const Program& program, const Loop& loop, std::size_t at) {
  Places tainted = written_by(program, at);
  for (std::size_t i = at + 1; i < loop.end; ++i) {
    if ((read_by(program.ops[i]) & tainted).none()) continue;
    if (is_any_of(mnemonic_at(program, i), {"BRA", "BREAK", "EXIT"})) return true;
    tainted |= written_by(program, i);
  }
  return false;
}

bool keeps_address(const Program& program, const Loop& loop, std::size_t at) {
  Places address;
  add(address, program.ops[at].from[0]);
  for (std::size_t i = loop.begin; i < loop.end; ++i) {
    if ((written_by(program, i) & address).any()) return false;
  }
  return true;
}

bool loads_same(const Program& program, std::size_t a, std::size_t b) {
  const Source& x = program.ops[a].from[0];
  const Source& y = program.ops[b].from[0];
  return program.listed[a].opcode == program.listed[b].opcode && x.index == y.index &&
         x.uniform_index == y.uniform_index && x.bits == y.bits;
}

// Marks the copy of a polling load that the compiler has moved before the loop.
void mark_first_iteration(const Program& program, const Loop& loop, std::size_t at,
                          std::vector<bool>& polls) {
  constexpr std::size_t kMaxBefore = 24;
  Places address;
  add(address, program.ops[at].from[0]);
  for (std::size_t i = loop.begin; i-- > loop.begin - std::min(loop.begin, kMaxBefore);) {
    if (loads_same(program, i, at) && is_candidate(program, i)) polls[i] = true;
    if ((written_by(program, i) & address).any()) return;
  }
}

void mark_polls(const Program& program, const Loop& loop, std::vector<bool>& polls) {
  for (std::size_t i = loop.begin; i < loop.end; ++i) {
    if (stores(mnemonic_at(program, i))) return;
  }
  for (std::size_t i = loop.begin; i < loop.end; ++i) {
    if (!is_candidate(program, i) || !keeps_address(program, loop, i) || !decides(program, loop, i))
      continue;
    polls[i] = true;
    polls[loop.end - 1] = is_conditional(program.ops[loop.end - 1]);
    mark_first_iteration(program, loop, i, polls);
  }
}

}  // namespace

std::vector<bool> polling_ops(const Program& program) {
  constexpr std::size_t kMaxLoop = 96;
  std::vector<bool> polls(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const std::size_t target = program.ops[i].value;
    const bool is_back = mnemonic_at(program, i) == "BRA" && target <= i && i - target < kMaxLoop;
    // The last instruction of a program branches to itself.
    if (is_back && target < i) mark_polls(program, {target, i + 1}, polls);
  }
  return polls;
}

}  // namespace gpuexp::sim
