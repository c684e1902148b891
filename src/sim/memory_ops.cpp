#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "sim/addresses.hpp"
#include "sim/constant_bank.hpp"
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

/// Reads `width` bytes, at most 4, of a constant bank. Throws Fault if they are out of bounds.
std::uint32_t constant_at(const Warp& warp, unsigned bank, std::uint64_t offset, unsigned width) {
  const LaunchState& launch = warp.block.launch;
  const std::span<const std::byte> bytes = launch.constant_bank(bank);
  if (bank == kAddressBank && bytes.empty()) throw unknown_variable();
  if (offset > bytes.size() || bytes.size() - offset < width)
    throw Fault(fmt::format("offset {:#x} is outside of constant bank {}", offset, bank));
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + offset, width);
  return value;
}

std::uint8_t width_of(const Decoding& in) {
  for (const std::string_view modifier : in.modifiers) {
    if (modifier == "128") return 16;
    if (modifier == "64") return 8;
    if (modifier == "U16" || modifier == "S16") return 2;
    if (modifier == "U8" || modifier == "S8") return 1;
  }
  return 4;
}

constexpr std::uint8_t kSigned = 1;

std::uint32_t sign_extended(std::uint32_t value, unsigned width) {
  const unsigned shift = 32 - 8 * width;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value << shift) >> shift);
}

bool is_signed(const Decoding& in) {
  return in.has("S8") || in.has("S16");
}

// ---- constants

std::uint32_t constant_word(const Warp& warp, const Op& op, std::uint64_t offset) {
  const unsigned width = std::min<unsigned>(op.width, sizeof(std::uint32_t));
  const std::uint32_t value = constant_at(warp, op.bank, offset, width);
  return op.kind & kSigned ? sign_extended(value, width) : value;
}

GPUEXP_VECTORIZED void run_ldc(Warp& warp, const Op& op, LaneMask lanes) {
  const Source& from = op.from[0];
  const unsigned words = std::max(1, op.width / 4);
  Lanes32 scratch;
  scratch.of.fill(0);
  // Copied because LDC.64 R2, c[0x2][R2] and ULDC.64 UR6, c[0x0][UR6] overwrite their index.
  const std::uint64_t uniform_base = warp.uniform[from.uniform_index];
  const Lanes32 base = from.index == kZeroRegister ? scratch : warp.registers[from.index];
  for (unsigned w = 0; w < words; ++w) {
    Lanes32 value;
    value.of.fill(0);
    if (from.index == kZeroRegister) {
      value.of.fill(constant_word(warp, op, from.bits + uniform_base + 4 * w));
    } else {
      for_each_lane(lanes, [&](unsigned l) {
        value[l] = constant_word(warp, op, base[l] + from.bits + 4 * w);
      });
    }
    write(warp, next_register(op.to[0], w), lanes, value);
  }
}

void decode_ldc(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() != 2 || in.operands[1].kind != Kind::constant);
  place(in, op);
  op.bank = in.operands[1].bank;
  op.width = width_of(in);
  op.kind = is_signed(in) ? kSigned : 0;
  op.run = run_ldc;
}

// ---- loads and stores

enum class Way : std::uint8_t { load, store };

template <Way way>
constexpr Access kAccess = way == Way::load ? Access::load : Access::store;

template <Way way>
GPUEXP_INLINED const Source& register_of(const Op& op) {
  return way == Way::load ? op.to[0] : op.from[1];
}

/// Values of a store of RZ, of up to 16 bytes per lane.
constexpr std::array<Lanes32, 4> kZeros{};

// First register of a store's value; null for loads.
template <Way way>
GPUEXP_INLINED const Lanes32* stored_values(const Warp& warp, const Op& op) {
  if (way == Way::load) return nullptr;
  return op.from[1].index == kZeroRegister ? kZeros.data() : &warp.registers[op.from[1].index];
}

template <Way way>
GPUEXP_INLINED void move(std::uint32_t& word, std::byte* at, unsigned bytes) {
  if constexpr (way == Way::load)
    std::memcpy(&word, at, bytes);
  else
    std::memcpy(at, &word, bytes);
}

template <Way way>
GPUEXP_INLINED void move_lane(Warp& warp, const Op& op, unsigned lane, std::byte* at) {
  const Source& first = register_of<way>(op);
  if (way == Way::load && first.index == kZeroRegister) return;
  if (op.width < 4) {
    std::uint32_t& word = warp.registers[first.index][lane];
    if (way == Way::load) word = 0;
    move<way>(word, at, op.width);
    if (way == Way::load && op.kind & kSigned) word = sign_extended(word, op.width);
    return;
  }
  for (unsigned w = 0; w < op.width / 4u; ++w)
    move<way>(warp.registers[next_register(first, w).index][lane], at + 4 * w, 4);
}

GPUEXP_INLINED std::byte* place_in(std::uint64_t origin, std::uint64_t address) {
  return reinterpret_cast<std::byte*>(origin + address);
}

template <Way way, unsigned kWords>
GPUEXP_INLINED void move_whole(Warp& warp, const Op& op, std::uint64_t origin,
                               const Lanes64& address) {
  Lanes32* const first = &warp.registers[register_of<way>(op).index];
  for (unsigned l = 0; l < kLanes; ++l) {
    std::byte* const at = place_in(origin, address[l]);
    for (unsigned w = 0; w < kWords; ++w)
      move<way>(first[w][l], at + 4 * w, 4);
  }
}

// Accesses memory at `origin` plus each lane's address. If several lanes store to one address, the
// value of the highest lane remains.
template <Way way>
GPUEXP_INLINED void move_lanes(Warp& warp, const Op& op, LaneMask lanes, std::uint64_t origin,
                               const Lanes64& address) {
  // No registers follow RZ.
  const bool are_consecutive = register_of<way>(op).index + op.width / 4u <= kZeroRegister;
  if (lanes != kAllLanes || op.width < 4 || !are_consecutive) {
    for_each_lane(lanes,
                  [&](unsigned l) { move_lane<way>(warp, op, l, place_in(origin, address[l])); });
    return;
  }
  switch (op.width) {
    case 4: return move_whole<way, 1>(warp, op, origin, address);
    case 8: return move_whole<way, 2>(warp, op, origin, address);
    default: return move_whole<way, 4>(warp, op, origin, address);
  }
}

template <Way way>
GPUEXP_VECTORIZED void run_generic(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  if (op.is_idle)
    return note_generic(warp, {Space::global, kAccess<way>, op.width, lanes, address});
  const Origin origin = note_generic(warp, kAccess<way>, op.width, lanes, address,
                                     stored_values<way>(warp, op), op.is_flag);
  if (origin) return move_lanes<way>(warp, op, lanes, *origin, address);
  for_each_lane(lanes, [&](unsigned l) {
    move_lane<way>(warp, op, l, generic_at(warp, l, address[l], op.width));
  });
}

// Blocks on other host threads may access the same word concurrently, so a load must return either
// the old or the new word as a whole. In the PTX ISA ("Memory Consistency Model"), a scalar of up
// to 16 bytes (b128) is one access, and each element of a vector is a separate access. Machine code
// does not distinguish scalars from vectors.
constexpr unsigned kSingleBytes = 8;
constexpr unsigned kWideBytes = 16;

/// The host accesses at most 8 bytes atomically, so this lock serializes accesses to the same 16
/// bytes.
class WideAccess {
 public:
  explicit WideAccess(const std::byte* at)
      : lock_(locks()[reinterpret_cast<std::uintptr_t>(at) / kWideBytes % kLocks]) {
    while (lock_.test_and_set(std::memory_order_acquire))
      std::this_thread::yield();
  }
  ~WideAccess() { lock_.clear(std::memory_order_release); }
  WideAccess(const WideAccess&) = delete;
  WideAccess& operator=(const WideAccess&) = delete;

 private:
  static constexpr std::size_t kLocks = 1024;
  static std::array<std::atomic_flag, kLocks>& locks() {
    static std::array<std::atomic_flag, kLocks> all;
    return all;
  }

  std::atomic_flag& lock_;
};

template <Way way>
void run_strong_wide(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  const Origin origin = note_generic(warp, kAccess<way>, op.width, lanes, address,
                                     stored_values<way>(warp, op), op.is_flag);
  for_each_lane(lanes, [&](unsigned l) {
    std::byte* const at =
        origin ? place_in(*origin, address[l]) : generic_at(warp, l, address[l], op.width);
    if (op.width == kWideBytes) {
      const WideAccess lock(at);
      return move_lane<way>(warp, op, l, at);
    }
    auto* const shared = reinterpret_cast<std::uint64_t*>(at);
    std::uint64_t word = way == Way::load ? __atomic_load_n(shared, __ATOMIC_ACQUIRE) : 0;
    move_lane<way>(warp, op, l, reinterpret_cast<std::byte*>(&word));
    if (way == Way::store) __atomic_store_n(shared, word, __ATOMIC_RELEASE);
  });
}

// A load that must see the stores of other SMs (PTX ISA: ld.relaxed, ld.acquire, ld.volatile). A
// warp that waits for a store repeats the load, so other warps run first.
void run_strong_load(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  if (op.width >= kSingleBytes)
    run_strong_wide<Way::load>(warp, op, lanes);
  else
    run_generic<Way::load>(warp, op, lanes);
  warp.ends_turn = true;
  if (lanes == 0 || !warp.block.launch.global->is_shared()) return;
  PolledLoad load{warp.divergence.next(), lanes, address[first_lane(lanes)], {}};
  for (unsigned i = 0; i < load.words.size() && i * 4 < op.width; ++i) {
    Lanes32 scratch;
    load.words[i] = read_raw(warp, next_register(op.to[0], i), scratch)[first_lane(lanes)];
  }
  warp.polls = load == warp.last_polled_load;
  warp.last_polled_load = load;
}

void run_strong_store(Warp& warp, const Op& op, LaneMask lanes) {
  if (op.width >= kSingleBytes)
    run_strong_wide<Way::store>(warp, op, lanes);
  else
    run_generic<Way::store>(warp, op, lanes);
  warp.signals = true;
}

template <Way way>
GPUEXP_VECTORIZED void run_shared(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  shared_addresses(warp, op.from[0], address);
  const bool is_atomic = way == Way::load && op.kind2 == kAtomicLoad;
  MemoryAccess access{Space::shared, is_atomic ? Access::atomic : kAccess<way>,
                      op.width,      lanes,
                      address,       stored_values<way>(warp, op)};
  access.is_flag = op.is_flag;
  warp.block.note(access);
  if (op.is_idle) return;
  if (const Origin origin = shared_origin(warp, access))
    return move_lanes<way>(warp, op, lanes, *origin, address);
  for_each_lane(lanes, [&](unsigned l) {
    move_lane<way>(warp, op, l, shared_at(warp, address[l], op.width));
  });
}

// A load that polls a flag (sim/poll_loops.hpp). Other lanes and warps run before it is repeated.
void run_polling_load(Warp& warp, const Op& op, LaneMask lanes) {
  run_shared<Way::load>(warp, op, lanes);
  warp.divergence.yield();
  warp.ends_turn = true;
}

template <Way way, Op::Run run>
void decode_access(const Decoding& in, Op& op) {
  // Number of operands before the address.
  constexpr std::size_t kLoaded = way == Way::load ? 1 : 0;
  in.refuse_operands_if(in.operands.size() != 2 || in.operands[kLoaded].kind != Kind::memory);
  place(in, op, Reads::integer, kLoaded);
  // In LD.E.64 R10, [R16+0x20], which has no descriptor, R16 is the first register of a pair.
  const Operand& address = in.operands[kLoaded];
  if (in.has("E") && address.descriptor == kZeroUniformRegister &&
      address.uniform_index == kZeroUniformRegister)
    op.from[0].wide = true;
  op.width = width_of(in);
  op.kind = is_signed(in) ? kSigned : 0;
  op.run = run;
}

void decode_global_load(const Decoding& in, Op& op) {
  decode_access<Way::load, run_generic<Way::load>>(in, op);
  if (in.has("STRONG")) op.run = run_strong_load;
  op.is_flag = in.has("STRONG") && in.listed.opcode.starts_with("LD.");
}

void decode_global_store(const Decoding& in, Op& op) {
  decode_access<Way::store, run_generic<Way::store>>(in, op);
  if (in.has("STRONG")) op.run = run_strong_store;
  op.is_flag = in.has("STRONG") && in.listed.opcode.starts_with("ST.");
}

GPUEXP_INLINED void copy_word(std::byte* to, const std::byte* from, unsigned width) {
  switch (width) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, 16); break;
  }
}

constexpr std::uint8_t kFillsWithZero = 1;
constexpr std::uint8_t kPassesL1 = 2;

// LDGSTS (cp.async) copies from global to shared memory, and stores zeros if its predicate is
// false. With ZFILL, the lower bits of the source address are the number of bytes at the end that
// become zero instead.
GPUEXP_VECTORIZED void run_ldgsts(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 to;
  Lanes64 from;
  Lanes32 bytes;
  shared_addresses(warp, op.from[0], to);
  global_addresses(warp, op.from[1], from);
  bytes.of.fill(op.width);
  const bool fills_with_zero = (op.kind & kFillsWithZero) != 0;
  for (unsigned l = 0; fills_with_zero && l < kLanes; ++l) {
    const auto part = static_cast<std::uint32_t>(from[l] % op.width);
    if (part == 0) continue;
    bytes[l] = op.width - part;
    from[l] -= part;
  }
  const LaneMask copied =
      op.from[2].kind == Kind::none ? kAllLanes : read_predicate(warp, op.from[2]);
  MemoryAccess read{Space::global, Access::async_load, op.width, lanes & copied, from};
  if (op.kind & kPassesL1) read.destination = &to;
  warp.block.note(read);
  const MemoryAccess written{Space::shared, Access::async_store, op.width, lanes, to, nullptr,
                             &from};
  warp.block.note(written);
  if (op.is_idle) return;
  const Origin origin = shared_origin(warp, written);
  const bool is_plain = origin && op.width >= 4 && !fills_with_zero && copied == kAllLanes &&
                        read.shape.last < kLocalWindow && warp.block.launch.global->holds(read);
  if (is_plain) {
    for_each_lane(lanes, [&](unsigned l) {
      copy_word(place_in(*origin, to[l]), place_in(0, from[l]), op.width);
    });
    return;
  }
  for_each_lane(lanes, [&](unsigned l) {
    std::byte* const target = shared_at(warp, to[l], op.width);
    if (copied >> l & 1) {
      std::memcpy(target, generic_at(warp, l, from[l], op.width), bytes[l]);
      std::memset(target + bytes[l], 0, op.width - bytes[l]);
    } else {
      std::memset(target, 0, op.width);
    }
  });
}

void decode_ldgsts(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() < 2 || in.operands.size() > 3);
  place(in, op, Reads::integer, 0);
  op.width = width_of(in);
  op.kind = (in.has("ZFILL") ? kFillsWithZero : 0) | (in.has("BYPASS") ? kPassesL1 : 0);
  op.run = run_ldgsts;
}

// LDSM (ldmatrix) loads matrices of 8 × 8 values of 16 bits. Lanes 0 to 7 provide the row addresses
// of the first matrix, lanes 8 to 15 of the second, and so on. Lane l receives values 2 (l mod 4)
// and 2 (l mod 4) + 1 of row l / 4; with MT88, of the transposed matrix. STSM stores in the same
// layout.
template <Way way>
GPUEXP_VECTORIZED void run_matrices(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr unsigned kRows = 8;
  constexpr unsigned kRowBytes = 16;
  if (lanes != kAllLanes)
    throw Fault(way == Way::load ? "ldmatrix is executed by only some lanes of a warp"
                                 : "stmatrix is executed by only some lanes of a warp");
  Lanes64 address;
  shared_addresses(warp, op.from[0], address);
  // Only the first eight lanes per matrix provide row addresses.
  warp.block.note(
      {Space::shared, kAccess<way>, kRowBytes, kAllLanes >> (kLanes - kRows * op.value), address});
  if (op.is_idle) return;
  for (unsigned matrix = 0; matrix < op.value; ++matrix) {
    const Source at = next_register(register_of<way>(op), matrix);
    std::uint16_t rows[kRows][kRows];
    const auto row_at = [&](unsigned row) {
      return shared_at(warp, address[kRows * matrix + row], kRowBytes);
    };
    const auto element = [&](unsigned lane, unsigned i) -> std::uint16_t& {
      const unsigned column = 2 * (lane % 4) + i;
      return op.kind ? rows[column][lane / 4] : rows[lane / 4][column];
    };
    Lanes32 value;
    if constexpr (way == Way::load) {
      for (unsigned row = 0; row < kRows; ++row)
        std::memcpy(rows[row], row_at(row), kRowBytes);
      for (unsigned l = 0; l < kLanes; ++l)
        value[l] = element(l, 0) | std::uint32_t{element(l, 1)} << 16;
      write(warp, at, lanes, value);
    } else {
      const Lanes32& stored = read_raw(warp, at, value);
      for (unsigned l = 0; l < kLanes; ++l) {
        for (unsigned i = 0; i < 2; ++i)
          element(l, i) = static_cast<std::uint16_t>(stored[l] >> 16 * i);
      }
      for (unsigned row = 0; row < kRows; ++row)
        std::memcpy(row_at(row), rows[row], kRowBytes);
    }
  }
}

template <Way way>
void decode_matrices(const Decoding& in, Op& op) {
  decode_access<way, run_matrices<way>>(in, op);
  op.kind = in.has("MT88");
  op.value = in.has("4") ? 4 : in.has("2") ? 2 : 1;
}

// ---- local memory: private to each lane, the stack at its end

template <Way way>
GPUEXP_VECTORIZED void run_local(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  local_addresses(warp, op.from[0], address);
  warp.block.note({Space::local, kAccess<way>, op.width, lanes, address});
  if (op.is_idle) return;
  LocalMemory& local = warp.local_memory();
  for_each_lane(
      lanes, [&](unsigned l) { move_lane<way>(warp, op, l, local.at(l, address[l], op.width)); });
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"LDC", decode_ldc},
    {"ULDC", decode_ldc},
    {"LDCU", decode_ldc},
    {"LDG", decode_global_load},
    {"LD", decode_global_load},
    {"STG", decode_global_store},
    {"ST", decode_global_store},
    {"LDS", decode_access<Way::load, run_shared<Way::load>>},
    {"STS", decode_access<Way::store, run_shared<Way::store>>},
    {"LDGSTS", decode_ldgsts},
    {"LDSM", decode_matrices<Way::load>},
    {"STSM", decode_matrices<Way::store>},
    {"LDL", decode_access<Way::load, run_local<Way::load>>},
    {"STL", decode_access<Way::store, run_local<Way::store>>},
};

}  // namespace

void set_polling(Op& op) {
  op.is_flag = true;
  if (op.run == run_shared<Way::load>) op.run = run_polling_load;
}

std::span<const OpcodeDecoder> memory_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
