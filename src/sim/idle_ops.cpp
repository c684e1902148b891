#include "sim/idle_ops.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <string_view>

#include "sim/opcodes.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

/// Numbering of registers: registers and predicates of the lanes, then of the warp.
constexpr unsigned kRegisters = 256;
constexpr unsigned kPredicates = 8;
constexpr unsigned kFirstPredicate = kRegisters;
constexpr unsigned kFirstUniform = kFirstPredicate + kPredicates;
constexpr unsigned kFirstUniformPredicate = kFirstUniform + kRegisters;
using Places = std::bitset<kFirstUniformPredicate + kPredicates>;

/// Role of an instruction in the data flow, which idle_ops() traces backwards.
enum class Role : std::uint8_t {
  acts,      ///< has effects besides its results, so all values that it reads are used
  computes,  ///< computes registers; always executed
  carries,   ///< computes registers; skipped if its results are unused
  /// Like `carries`, but its guard counts as used, because other instructions may wait for it.
  carries_late,
  loads,
  stores,
  copies,
  multiplies,  ///< wgmma: multiplies matrices in shared memory
};

struct RoleOf {
  std::string_view mnemonic;
  Role role;
};

// Roles of instructions outside the arithmetic pipes.
constexpr RoleOf kRoles[] = {
    {"LDG", Role::loads},         {"LD", Role::loads},         {"LDS", Role::loads},
    {"LDL", Role::loads},         {"LDSM", Role::loads},       {"STG", Role::stores},
    {"ST", Role::stores},         {"STS", Role::stores},       {"STL", Role::stores},
    {"STSM", Role::stores},       {"LDGSTS", Role::copies},    {"HGMMA", Role::multiplies},
    {"QGMMA", Role::multiplies},  {"IGMMA", Role::multiplies}, {"SHFL", Role::carries_late},
    {"MOVM", Role::carries_late}, {"S2R", Role::computes},     {"S2UR", Role::computes},
    {"LDC", Role::computes},      {"ULDC", Role::computes},    {"UMOV", Role::computes},
    {"UIADD3", Role::computes},   {"UIMAD", Role::computes},   {"ULEA", Role::computes},
    {"USHF", Role::computes},     {"ULOP3", Role::computes},   {"UPLOP3", Role::computes},
    {"UPRMT", Role::computes},    {"USEL", Role::computes},    {"UISETP", Role::computes},
};

constexpr unsigned kGlobal = 1;
constexpr unsigned kShared = 2;
constexpr unsigned kLocal = 4;

unsigned spaces_of(std::string_view mnemonic) {
  if (mnemonic == "LDG" || mnemonic == "STG") return kGlobal;
  if (mnemonic == "LDL" || mnemonic == "STL") return kLocal;
  if (mnemonic == "LD" || mnemonic == "ST") return kGlobal | kShared | kLocal;
  return kShared;
}

/// Registers whose values later instructions use, always or only if a predicate has a given value.
/// A guarded instruction often reads values that were written under the same guard.
struct Needed {
  static constexpr std::size_t kConditions = 1 + 2 * kTruePredicate;
  static constexpr std::size_t kAlways = 0;

  std::array<Places, kConditions> under;

  bool operator==(const Needed& other) const { return under == other.under; }
  void add(const Needed& more) {
    for (std::size_t i = 0; i < kConditions; ++i)
      under[i] |= more.under[i];
  }
};

// Guards by predicates of the warp are not tracked.
std::size_t condition_of(const Source& guard) {
  const unsigned index = guard.index & kTruePredicate;
  if (guard.kind != Kind::predicate || index == kTruePredicate) return Needed::kAlways;
  return 1 + 2 * index + guard.inverted;
}

std::size_t opposite_of(std::size_t condition) {
  return condition == Needed::kAlways ? Needed::kConditions : ((condition - 1) ^ 1) + 1;
}

struct Flow {
  Role role = Role::acts;
  unsigned spaces = 0;         ///< memory spaces that it loads from or stores to
  bool returns_value = false;  ///< atomic that returns a value, so the value in memory is used
  bool moves_out = false;      ///< the copy engine may read shared and write global memory
  bool moves_in = false;       ///< the copy engine reads global and writes shared memory
  Places reads;                ///< except the guard and `carried`
  /// Registers that count as used only if the result is used: the value that a store writes, and
  /// register operands of wgmma.
  Places carried;
  Places guard;
  Places writes;  ///< all registers that it may write
  Places sets;
  std::size_t condition = 0;  ///< index of its guard in Needed::under
  std::vector<std::uint32_t> next;
};

void add(Places& places, unsigned first, unsigned index, unsigned count, unsigned none) {
  if (index == none) return;
  for (unsigned i = index; i < std::min(index + count, none); ++i)
    places.set(first + i);
}

void add_all_predicates(Places& places) {
  add(places, kFirstPredicate, 0, kTruePredicate, kTruePredicate);
  add(places, kFirstUniformPredicate, 0, kTruePredicate, kTruePredicate);
}

// Adds the registers of an operand. `count` is the number of registers of a register operand.
void add(Places& places, const OperandForm& operand, unsigned count) {
  switch (operand.kind) {
    case Kind::reg: return add(places, 0, operand.index, count, kZeroRegister);
    case Kind::uniform:
      return add(places, kFirstUniform, operand.index, count, kZeroUniformRegister);
    case Kind::matrices: return add(places, kFirstUniform, operand.index, 4, kZeroUniformRegister);
    case Kind::predicate:
      return add(places, kFirstPredicate, operand.index & kTruePredicate, 1, kTruePredicate);
    case Kind::uniform_predicate:
      return add(places, kFirstUniformPredicate, operand.index & kTruePredicate, 1, kTruePredicate);
    case Kind::constant:
    case Kind::memory:
      add(places, 0, operand.index, operand.wide ? 2 : 1, kZeroRegister);
      // The coordinates of a tensor copy are in the registers after the addresses.
      return add(places, kFirstUniform, operand.uniform_index, std::max(2u, count),
                 kZeroUniformRegister);
    case Kind::name: return add_all_predicates(places);
    default: return;
  }
}

bool has(std::string_view opcode, std::string_view part) {
  return opcode.find(part) != std::string_view::npos;
}

constexpr unsigned kMaxWarpgroupRegisters = 128;

bool is_constant_load(std::string_view mnemonic) {
  return mnemonic == "LDC" || mnemonic == "ULDC";
}

bool multiplies_wide(std::string_view opcode, std::string_view mnemonic) {
  return (mnemonic == "IMAD" || mnemonic == "UIMAD") && has(opcode, ".WIDE");
}

unsigned max_written(std::string_view opcode, std::string_view mnemonic, const Op& op, Role role) {
  if (role == Role::multiplies) return kMaxWarpgroupRegisters;
  if (is_any_of(mnemonic, {"HMMA", "IMMA", "BMMA", "QMMA", "LDSM"})) return 4;
  if (mnemonic == "DMMA") return 16;
  if (role == Role::loads || is_constant_load(mnemonic)) return std::max(1, op.width / 4);
  const bool converts = is_any_of(mnemonic, {"F2F", "F2I", "I2F", "FRND"});
  const bool is_pair = multiplies_wide(opcode, mnemonic) || (converts && has(opcode, "64")) ||
                       opcode.starts_with('D') || mnemonic == "CS2R";
  return is_pair ? 2 : 1;
}

// Maximum number of registers of a source. The addend of IMAD.WIDE and IMAD.HI is a register pair.
unsigned max_read(std::string_view opcode, std::string_view mnemonic, const Op& op, Role role,
                  std::size_t source) {
  if (role == Role::acts) return 8;
  if (mnemonic == "STSM") return 4;
  if (role == Role::stores) return std::max(1, op.width / 4);
  if (mnemonic == "IMAD" || mnemonic == "UIMAD") {
    const bool is_pair = source == 2 && (has(opcode, ".WIDE") || has(opcode, ".HI"));
    return is_pair ? 2 : 1;
  }
  return max_written(opcode, mnemonic, op, role);
}

// Number of registers of the first result that the instruction overwrites completely.
unsigned overwritten_registers(std::string_view opcode, std::string_view mnemonic, const Op& op,
                               Role role) {
  if (role == Role::multiplies) return 0;
  if (mnemonic == "LDSM" || op.to[0].half != Operand::Half::both) return 1;
  if (role == Role::loads || is_constant_load(mnemonic)) return std::max(1, op.width / 4);
  return multiplies_wide(opcode, mnemonic) ? 2 : 1;
}

bool is_true(const Source& guard) {
  return (guard.index & kTruePredicate) == kTruePredicate && !guard.inverted;
}

Role role_of(std::string_view opcode, std::string_view mnemonic, IssuePipe pipe) {
  switch (pipe) {
    case IssuePipe::fma:
    case IssuePipe::alu: return Role::carries;
    case IssuePipe::fp64:
    case IssuePipe::xu:
    case IssuePipe::tensor: return Role::carries_late;
    default: break;
  }
  const auto* const found = std::find_if(std::begin(kRoles), std::end(kRoles),
                                         [&](const RoleOf& r) { return r.mnemonic == mnemonic; });
  // A .STRONG load is never skipped: a loop that waits for another thread's store repeats it until
  // the value changes.
  if (found == std::end(kRoles) || has(opcode, ".STRONG")) return Role::acts;
  return found->role;
}

Flow flow_of(std::string_view opcode, IssuePipe pipe, const Op& op) {
  Flow flow;
  const std::string_view mnemonic = mnemonic_of(opcode);
  flow.role = role_of(opcode, mnemonic, pipe);
  const bool is_access = flow.role == Role::loads || flow.role == Role::stores;
  flow.spaces = is_access ? spaces_of(mnemonic) : 0;
  flow.returns_value = mnemonic.starts_with("ATOM");
  flow.moves_out = mnemonic.starts_with("UTMA") || mnemonic.starts_with("UBLK");
  flow.moves_in = mnemonic == "UTMALDG" || mnemonic == "UBLKCP";
  add(flow.guard, op.guard, 1);
  for (std::size_t i = 0; i < op.from.size(); ++i) {
    const bool carries = (flow.role == Role::stores && i == 1) ||
                         (flow.role == Role::multiplies && op.from[i].kind == Kind::reg);
    add(carries ? flow.carried : flow.reads, op.from[i],
        max_read(opcode, mnemonic, op, flow.role, i));
  }
  const unsigned max_count = max_written(opcode, mnemonic, op, flow.role);
  for (const Source& to : op.to)
    add(flow.writes, to, max_count);
  flow.condition = condition_of(op.guard);
  if (flow.condition == Needed::kAlways && !is_true(op.guard)) return flow;
  add(flow.sets, op.to[0], overwritten_registers(opcode, mnemonic, op, flow.role));
  for (std::size_t i = 1; i < op.to.size(); ++i) {
    if (op.to[i].half == Operand::Half::both) add(flow.sets, op.to[i], 1);
  }
  return flow;
}

// Sets the successors of each instruction. Returns false if a branch target is unknown.
bool find_next(const Program& program, std::vector<Flow>& flows) {
  const auto mnemonic_at = [&](std::size_t i) { return mnemonic_of(program.listed[i].opcode); };
  std::vector<std::uint32_t> return_sites;
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    if (mnemonic_at(i) == "CALL") return_sites.push_back(i + 1);
  }
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    const Op& op = program.ops[i];
    const std::string_view mnemonic = mnemonic_at(i);
    const std::string_view opcode = program.listed[i].opcode;
    const bool is_always = is_true(op.guard) && op.from[0].kind == Kind::none;
    if (mnemonic == "BRX" || mnemonic == "BRXU" || has(opcode, "COLLECTIVE")) return false;
    if (mnemonic == "RET") {
      flows[i].next = return_sites;
    } else if (mnemonic == "CALL") {
      if (op.from[0].kind != Kind::none) return false;
      flows[i].next = {op.value, i + 1};
    } else if (mnemonic == "BRA") {
      flows[i].next = {op.value};
      if (!is_always) flows[i].next.push_back(i + 1);
    } else if (mnemonic != "EXIT" || !is_true(op.guard) || !is_true(op.from[0])) {
      flows[i].next = {i + 1};
    }
    std::erase_if(flows[i].next, [&](std::uint32_t next) { return next >= flows.size(); });
  }
  return true;
}

/// Branches that repeat a loop or leave it, if they are conditional.
std::vector<bool> loop_branches(const Program& program, const std::vector<Flow>& flows) {
  std::vector<bool> found(flows.size());
  for (std::size_t end = 0; end < flows.size(); ++end) {
    const bool is_back = mnemonic_of(program.listed[end].opcode) == "BRA" &&
                         program.ops[end].value < end && !flows[end].next.empty();
    if (!is_back) continue;
    for (std::size_t i = program.ops[end].value; i <= end; ++i) {
      const auto leaves = [&](std::uint32_t next) {
        return next < program.ops[end].value || next > end;
      };
      found[i] = found[i] ||
                 (flows[i].next.size() == 2 && std::ranges::any_of(flows[i].next, leaves));
    }
  }
  return found;
}

/// Finds instructions whose results are used: by addresses and by instructions with effects, or
/// only by the given ones. Visits instructions from the last to the first, until a pass changes
/// nothing.
class Deciding {
 public:
  Deciding(const std::vector<Flow>& flows, bool keeps_global,
           const std::vector<bool>* users = nullptr)
      : flows_(flows),
        users_(users),
        before_(flows.size()),
        decides_(flows.size()),
        kept_(keeps_global ? kGlobal : 0) {
    while (pass()) {
    }
  }

  bool decides(std::size_t i) const { return decides_[i]; }
  unsigned loaded() const { return loaded_; }

 private:
  bool pass() {
    bool changes = false;
    for (std::size_t i = flows_.size(); i-- > 0;)
      changes |= visit(i);
    return changes;
  }

  bool visit(std::size_t i) {
    const Flow& flow = flows_[i];
    Needed needed;
    for (const std::uint32_t next : flow.next)
      needed.add(before_[next]);
    const unsigned loaded = loaded_;
    const bool used = is_used(flow, needed);
    const bool decides = users_ && flow.role == Role::acts ? (*users_)[i] || used
                                                           : does_decide(flow, used);
    if (flow.condition == Needed::kAlways) {
      for (Places& places : needed.under)
        places &= ~flow.sets;
    } else {
      needed.under[flow.condition] &= ~flow.sets;
    }
    // Later reads are guarded by the value that this instruction writes to the predicate. Before
    // the instruction, the registers that they read count as always needed.
    for (unsigned p = 0; p < kTruePredicate; ++p) {
      if (!flow.writes[kFirstPredicate + p]) continue;
      for (const std::size_t condition : {1 + 2 * p, 2 + 2 * p}) {
        needed.under[Needed::kAlways] |= needed.under[condition];
        needed.under[condition].reset();
      }
    }
    const bool is_access = !users_ &&
                           (flow.role == Role::loads || flow.role == Role::stores ||
                            flow.role == Role::copies || flow.role == Role::multiplies);
    if (decides || is_access) needed.under[flow.condition] |= flow.reads;
    if (decides) needed.under[flow.condition] |= flow.carried;
    if (decides || (!users_ && flow.role != Role::carries))
      needed.under[Needed::kAlways] |= flow.guard;
    const bool changes = !(needed == before_[i]) || decides != decides_[i] || loaded != loaded_;
    before_[i] = needed;
    decides_[i] = decides;
    return changes;
  }

  static bool is_used(const Flow& flow, const Needed& needed) {
    const std::size_t never = opposite_of(flow.condition);
    for (std::size_t i = 0; i < Needed::kConditions; ++i) {
      if (i != never && (flow.writes & needed.under[i]).any()) return true;
    }
    return false;
  }

  bool does_decide(const Flow& flow, bool is_used) {
    switch (flow.role) {
      case Role::acts:
        if (flow.returns_value) loaded_ |= kGlobal | kShared;
        if (flow.moves_out && ((loaded_ | kept_) & kGlobal) != 0) loaded_ |= kShared;
        if (flow.moves_in && (loaded_ & kShared) != 0) loaded_ |= kGlobal;
        return true;
      case Role::loads:
        if (is_used) loaded_ |= flow.spaces;
        return is_used;
      case Role::stores: return (flow.spaces & (loaded_ | kept_)) != 0;
      case Role::copies:
        if ((loaded_ & kShared) != 0) loaded_ |= kGlobal;
        return (loaded_ & kShared) != 0;
      case Role::multiplies:
        if (is_used) loaded_ |= kShared;
        return is_used;
      default: return is_used;
    }
  }

  const std::vector<Flow>& flows_;
  const std::vector<bool>* users_;
  std::vector<Needed> before_;
  std::vector<bool> decides_;
  unsigned kept_;
  unsigned loaded_ = 0;
};

}  // namespace

IdleOps idle_ops(const Program& program, bool keeps_global) {
  std::vector<Flow> flows;
  flows.reserve(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    flows.push_back(flow_of(program.listed[i].opcode, program.classes[i].pipe, program.ops[i]));
  IdleOps idle;
  idle.of.assign(flows.size(), Idle::no);
  idle.global_decides = idle.global_decides_loops = true;
  if (!find_next(program, flows)) return idle;
  const Deciding deciding(flows, keeps_global);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const Role role = flows[i].role;
    if (role == Role::computes || deciding.decides(i)) continue;
    const bool is_arithmetic = role == Role::carries || role == Role::carries_late;
    idle.of[i] = is_arithmetic ? Idle::arithmetic : Idle::access;
  }
  idle.global_decides = (deciding.loaded() & kGlobal) != 0;
  const std::vector<bool> of_loops = loop_branches(program, flows);
  idle.global_decides_loops =
      idle.global_decides &&
      (Deciding(flows, keeps_global, &of_loops).loaded() & kGlobal) != 0;
  return idle;
}

void leave_out(const IdleOps& idle, std::vector<Op>& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ops[i].is_idle = idle.of[i] == Idle::access;
    if (idle.of[i] == Idle::arithmetic) ops[i].run = run_noop;
  }
}

}  // namespace gpuexp::sim
