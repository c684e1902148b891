#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "sim/addresses.hpp"
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

/// `width` is at most 4 bytes.
std::uint32_t constant_at(const Warp& warp, unsigned bank, std::uint64_t offset, unsigned width) {
  const LaunchState& launch = warp.block.launch;
  const std::span<const std::byte> bytes =
      bank == 0 ? std::span(launch.constants) : launch.program->constant_bank(bank);
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

/// A value of fewer than 4 bytes with its sign.
std::uint32_t with_sign(std::uint32_t value, unsigned width) {
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
  return op.kind & kSigned ? with_sign(value, width) : value;
}

GPUEXP_VECTORIZED void run_ldc(Warp& warp, const Op& op, LaneMask lanes) {
  const Source& from = op.from[0];
  const unsigned words = std::max(1, op.width / 4);
  Lanes32 scratch;
  scratch.of.fill(0);
  // Copies: LDC.64 R2, c[0x2][R2] writes what it reads, and so does ULDC.64 UR6, c[0x0][UR6].
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
  if (in.operands.size() != 2 || in.operands[1].kind != Kind::constant)
    in.refuse("its operands are not understood");
  place(in, op);
  op.bank = in.operands[1].bank;
  op.width = width_of(in);
  op.kind = is_signed(in) ? kSigned : 0;
  op.run = run_ldc;
}

// The first register of what a store writes; null: RZ.
const Lanes32* values_of(const Warp& warp, const Source& value) {
  return value.index == kZeroRegister ? nullptr : &warp.registers[value.index];
}

// ---- loads and stores

GPUEXP_INLINED void load_word(Warp& warp, const Op& op, unsigned lane, const std::byte* from) {
  if (op.to[0].index == kZeroRegister) return;
  if (op.width < 4) {
    std::uint32_t value = 0;
    std::memcpy(&value, from, op.width);
    if (op.kind & kSigned) value = with_sign(value, op.width);
    warp.registers[op.to[0].index][lane] = value;
    return;
  }
  for (unsigned w = 0; w < op.width / 4u; ++w)
    std::memcpy(&warp.registers[next_register(op.to[0], w).index][lane], from + 4 * w, 4);
}

GPUEXP_INLINED void store_word(const Warp& warp, const Source& value, unsigned width, unsigned lane,
                               std::byte* to) {
  if (width < 4) {
    std::memcpy(to, &warp.registers[value.index][lane], width);
    return;
  }
  for (unsigned w = 0; w < width / 4; ++w)
    std::memcpy(to + 4 * w, &warp.registers[next_register(value, w).index][lane], 4);
}

GPUEXP_INLINED std::byte* place_in(std::uint64_t origin, std::uint64_t address) {
  return reinterpret_cast<std::byte*>(origin + address);
}

// Registers of all 32 lanes, of words of four bytes.
template <unsigned kWords>
GPUEXP_INLINED void load_whole(Warp& warp, const Source& to, std::uint64_t origin,
                               const Lanes64& address) {
  Lanes32* const first = &warp.registers[to.index];
  for (unsigned l = 0; l < kLanes; ++l) {
    const std::byte* const from = place_in(origin, address[l]);
    for (unsigned w = 0; w < kWords; ++w)
      std::memcpy(&first[w][l], from + 4 * w, 4);
  }
}

template <unsigned kWords>
GPUEXP_INLINED void store_whole(const Warp& warp, const Source& value, std::uint64_t origin,
                                const Lanes64& address) {
  const Lanes32* const first = &warp.registers[value.index];
  for (unsigned l = 0; l < kLanes; ++l) {
    std::byte* const to = place_in(origin, address[l]);
    for (unsigned w = 0; w < kWords; ++w)
      std::memcpy(to + 4 * w, &first[w][l], 4);
  }
}

// Whether the registers lie behind each other: RZ has none behind it.
GPUEXP_INLINED bool are_consecutive(const Source& first, unsigned words) {
  return first.index + words <= kZeroRegister;
}

// Of an access whose lanes all are inside of `origin`'s memory.
GPUEXP_INLINED void load_lanes(Warp& warp, const Op& op, LaneMask lanes, std::uint64_t origin,
                               const Lanes64& address) {
  const Source& to = op.to[0];
  if (lanes != kAllLanes || op.width < 4 || !are_consecutive(to, op.width / 4u)) {
    for_each_lane(lanes, [&](unsigned l) { load_word(warp, op, l, place_in(origin, address[l])); });
    return;
  }
  switch (op.width) {
    case 4: return load_whole<1>(warp, to, origin, address);
    case 8: return load_whole<2>(warp, to, origin, address);
    default: return load_whole<4>(warp, to, origin, address);
  }
}

// Likewise. Of lanes with one address the last one's value stays.
GPUEXP_INLINED void store_lanes(const Warp& warp, const Source& value, unsigned width,
                                LaneMask lanes, std::uint64_t origin, const Lanes64& address) {
  if (lanes != kAllLanes || width < 4 || !are_consecutive(value, width / 4)) {
    for_each_lane(lanes, [&](unsigned l) {
      store_word(warp, value, width, l, place_in(origin, address[l]));
    });
    return;
  }
  switch (width) {
    case 4: return store_whole<1>(warp, value, origin, address);
    case 8: return store_whole<2>(warp, value, origin, address);
    default: return store_whole<4>(warp, value, origin, address);
  }
}

GPUEXP_VECTORIZED void run_load(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  if (op.is_idle)
    return note_generic(warp, {Space::global, Access::load, op.width, lanes, address});
  const Origin origin = note_generic(warp, Access::load, op.width, lanes, address);
  if (origin) return load_lanes(warp, op, lanes, *origin, address);
  for_each_lane(lanes, [&](unsigned l) {
    load_word(warp, op, l, generic_at(warp, l, address[l], op.width));
  });
}

GPUEXP_VECTORIZED void run_store(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  if (op.is_idle)
    return note_generic(warp, {Space::global, Access::store, op.width, lanes, address});
  const Origin origin =
      note_generic(warp, Access::store, op.width, lanes, address, values_of(warp, op.from[1]));
  if (origin) return store_lanes(warp, op.from[1], op.width, lanes, *origin, address);
  for_each_lane(lanes, [&](unsigned l) {
    store_word(warp, op.from[1], op.width, l, generic_at(warp, l, address[l], op.width));
  });
}

// Words that other blocks, executed by other threads of the host, write or read meanwhile: all of
// one is old, or all of it new (PTX ISA, "Memory Consistency Model": scalars of up to 16 bytes, of
// type b128, are accessed as a whole. Machine code does not tell them from vectors, whose elements
// are accesses of their own).
constexpr unsigned kSingleBytes = 8;
constexpr unsigned kWideBytes = 16;

/// Hosts access 8 bytes as a whole; for as long as it lives, who accesses these 16 is alone.
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

void run_strong_wide_load(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  const Origin origin = note_generic(warp, Access::load, op.width, lanes, address);
  for_each_lane(lanes, [&](unsigned l) {
    const std::byte* const from =
        origin ? place_in(*origin, address[l]) : generic_at(warp, l, address[l], op.width);
    if (op.width == kWideBytes) {
      const WideAccess alone(from);
      return load_word(warp, op, l, from);
    }
    const auto word =
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from), __ATOMIC_ACQUIRE);
    load_word(warp, op, l, reinterpret_cast<const std::byte*>(&word));
  });
}

void run_strong_wide_store(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  const Origin origin =
      note_generic(warp, Access::store, op.width, lanes, address, values_of(warp, op.from[1]));
  for_each_lane(lanes, [&](unsigned l) {
    std::byte* const to =
        origin ? place_in(*origin, address[l]) : generic_at(warp, l, address[l], op.width);
    if (op.width == kWideBytes) {
      const WideAccess alone(to);
      return store_word(warp, op.from[1], op.width, l, to);
    }
    std::uint64_t word = 0;
    store_word(warp, op.from[1], op.width, l, reinterpret_cast<std::byte*>(&word));
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
  });
}

// A load that sees what other SMs write (PTX ISA, ld.relaxed, ld.acquire and ld.volatile): whoever
// waits for that asks over and over, and others run first.
void run_strong_load(Warp& warp, const Op& op, LaneMask lanes) {
  if (op.width >= kSingleBytes)
    run_strong_wide_load(warp, op, lanes);
  else
    run_load(warp, op, lanes);
  warp.ends_turn = true;
}

GPUEXP_VECTORIZED void run_shared_load(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  shared_addresses(warp, op.from[0], address);
  const Access kind = op.kind2 == kAtomicLoad ? Access::atomic : Access::load;
  const MemoryAccess access{Space::shared, kind, op.width, lanes, address};
  warp.block.note(access);
  if (op.is_idle) return;
  if (const Origin origin = shared_origin(warp, access))
    return load_lanes(warp, op, lanes, *origin, address);
  for_each_lane(lanes,
                [&](unsigned l) { load_word(warp, op, l, shared_at(warp, address[l], op.width)); });
}

GPUEXP_VECTORIZED void run_shared_store(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  shared_addresses(warp, op.from[0], address);
  const MemoryAccess access{Space::shared, Access::store, op.width,
                            lanes,         address,       values_of(warp, op.from[1])};
  warp.block.note(access);
  if (op.is_idle) return;
  if (const Origin origin = shared_origin(warp, access))
    return store_lanes(warp, op.from[1], op.width, lanes, *origin, address);
  for_each_lane(lanes, [&](unsigned l) {
    store_word(warp, op.from[1], op.width, l, shared_at(warp, address[l], op.width));
  });
}

// LD.E.64 R10, [R16+0x20]: without a descriptor, a pair of registers is not called one.
bool is_pair(const Decoding& in, const Operand& address) {
  return in.has("E") && address.descriptor == kZeroUniformRegister &&
         address.uniform_index == kZeroUniformRegister;
}

template <Op::Run run>
void decode_load(const Decoding& in, Op& op) {
  if (in.operands.size() != 2 || in.operands[1].kind != Kind::memory)
    in.refuse("its operands are not understood");
  place(in, op);
  if (is_pair(in, in.operands[1])) op.from[0].wide = true;
  op.width = width_of(in);
  op.kind = is_signed(in) ? kSigned : 0;
  op.run = run;
}

void decode_global_load(const Decoding& in, Op& op) {
  decode_load<run_load>(in, op);
  if (in.has("STRONG")) op.run = run_strong_load;
}

template <Op::Run run>
void decode_store(const Decoding& in, Op& op) {
  if (in.operands.size() != 2 || in.operands[0].kind != Kind::memory)
    in.refuse("its operands are not understood");
  place(in, op, Reads::integer, 0);
  if (is_pair(in, in.operands[0])) op.from[0].wide = true;
  op.width = width_of(in);
  op.run = run;
}

void decode_global_store(const Decoding& in, Op& op) {
  decode_store<run_store>(in, op);
  if (in.has("STRONG") && op.width >= kSingleBytes) op.run = run_strong_wide_store;
}

GPUEXP_INLINED void copy_word(std::byte* to, const std::byte* from, unsigned width) {
  switch (width) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, 16); break;
  }
}

// Of LDGSTS, in Op::kind.
constexpr std::uint8_t kFillsWithZero = 1;
constexpr std::uint8_t kPassesL1 = 2;

// LDGSTS (cp.async): from global into shared memory; zeros where its predicate does not hold. With
// ZFILL, the lower bits of the source's address say how many bytes at the end are not copied:
// these become zero.
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
  if (in.operands.size() < 2 || in.operands.size() > 3)
    in.refuse("its operands are not understood");
  place(in, op, Reads::integer, 0);
  op.width = width_of(in);
  op.kind = (in.has("ZFILL") ? kFillsWithZero : 0) | (in.has("BYPASS") ? kPassesL1 : 0);
  op.run = run_ldgsts;
}

// LDSM (ldmatrix): matrices of 8 × 8 values of 16 bits, whose rows lie where lanes 0 to 7, 8 to 15,
// … point. Lane l gets the values 2 (l mod 4) and the next of row l / 4; of MT88, of the
// transposed.
GPUEXP_VECTORIZED void run_ldsm(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr unsigned kRows = 8;
  constexpr unsigned kRowBytes = 16;
  if (lanes != kAllLanes) throw Fault("ldmatrix is executed by some lanes of a warp only");
  Lanes64 address;
  shared_addresses(warp, op.from[0], address);
  // Each of the first lanes has the address of a row.
  warp.block.note(
      {Space::shared, Access::load, kRowBytes, kAllLanes >> (kLanes - kRows * op.value), address});
  if (op.is_idle) return;
  std::array<Lanes32, 4> result;
  for (unsigned matrix = 0; matrix < op.value; ++matrix) {
    std::uint16_t rows[kRows][kRows];
    for (unsigned row = 0; row < kRows; ++row)
      std::memcpy(rows[row], shared_at(warp, address[kRows * matrix + row], kRowBytes), kRowBytes);
    for (unsigned l = 0; l < kLanes; ++l) {
      const unsigned row = l / 4;
      const unsigned column = 2 * (l % 4);
      const auto value = [&](unsigned c) {
        return std::uint32_t{op.kind ? rows[c][row] : rows[row][c]};
      };
      result[matrix][l] = value(column) | value(column + 1) << 16;
    }
  }
  for (unsigned matrix = 0; matrix < op.value; ++matrix)
    write(warp, next_register(op.to[0], matrix), lanes, result[matrix]);
}

void decode_ldsm(const Decoding& in, Op& op) {
  decode_load<run_ldsm>(in, op);
  op.kind = in.has("MT88");
  op.value = in.has("4") ? 4 : in.has("2") ? 2 : 1;
}

// STSM [R4], R8: what LDSM loads from there.
GPUEXP_VECTORIZED void run_stsm(Warp& warp, const Op& op, LaneMask lanes) {
  constexpr unsigned kRows = 8;
  constexpr unsigned kRowBytes = 16;
  if (lanes != kAllLanes) throw Fault("stmatrix is executed by some lanes of a warp only");
  Lanes64 address;
  shared_addresses(warp, op.from[0], address);
  warp.block.note(
      {Space::shared, Access::store, kRowBytes, kAllLanes >> (kLanes - kRows * op.value), address});
  if (op.is_idle) return;
  for (unsigned matrix = 0; matrix < op.value; ++matrix) {
    Lanes32 scratch;
    const Lanes32& value = read_raw(warp, next_register(op.from[1], matrix), scratch);
    std::uint16_t rows[kRows][kRows];
    for (unsigned l = 0; l < kLanes; ++l) {
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = l / 4;
        const unsigned column = 2 * (l % 4) + i;
        (op.kind ? rows[column][row] : rows[row][column]) =
            static_cast<std::uint16_t>(value[l] >> 16 * i);
      }
    }
    for (unsigned row = 0; row < kRows; ++row)
      std::memcpy(shared_at(warp, address[kRows * matrix + row], kRowBytes), rows[row], kRowBytes);
  }
}

void decode_stsm(const Decoding& in, Op& op) {
  decode_store<run_stsm>(in, op);
  op.kind = in.has("MT88");
  op.value = in.has("4") ? 4 : in.has("2") ? 2 : 1;
}

// ---- local memory: each lane's own, the stack at its end

GPUEXP_VECTORIZED void run_local_load(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  local_addresses(warp, op.from[0], address);
  warp.block.note({Space::local, Access::load, op.width, lanes, address});
  if (op.is_idle) return;
  LocalMemory& local = warp.local_memory();
  for_each_lane(lanes,
                [&](unsigned l) { load_word(warp, op, l, local.at(l, address[l], op.width)); });
}

GPUEXP_VECTORIZED void run_local_store(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  local_addresses(warp, op.from[0], address);
  warp.block.note({Space::local, Access::store, op.width, lanes, address});
  if (op.is_idle) return;
  LocalMemory& local = warp.local_memory();
  for_each_lane(lanes, [&](unsigned l) {
    store_word(warp, op.from[1], op.width, l, local.at(l, address[l], op.width));
  });
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"LDC", decode_ldc},
    {"ULDC", decode_ldc},
    {"LDCU", decode_ldc},
    {"LDG", decode_global_load},
    {"LD", decode_global_load},
    {"STG", decode_global_store},
    {"ST", decode_global_store},
    {"LDS", decode_load<run_shared_load>},
    {"STS", decode_store<run_shared_store>},
    {"LDGSTS", decode_ldgsts},
    {"LDSM", decode_ldsm},
    {"STSM", decode_stsm},
    {"LDL", decode_load<run_local_load>},
    {"STL", decode_store<run_local_store>},
};

}  // namespace

std::span<const OpcodeDecoder> memory_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
