// What atomic operations and reductions make of one element of memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sim/program.hpp"

namespace gpuexp::sim {

enum class Atomic : std::uint8_t {
  add,
  min,
  max,
  increment,  ///< to 0 from the operand on
  decrement,  ///< to the operand from 0, and from above it
  with_and,
  with_or,
  with_xor,
  exchange,
  compare_and_swap,
  /// Of ATOMS.CAST, which returns whether it did.
  compare_and_swap_reported
};

enum class AtomicType : std::uint8_t {
  u32,
  s32,
  u64,
  s64,
  f32,
  f32_ftz,
  f64,
  f16x2,
  bf16x2,
  f16,  ///< by itself, as bulk reductions have it
  bf16
};

struct AtomicChange {
  Atomic how = Atomic::add;
  AtomicType type = AtomicType::u32;
};

std::size_t size_of(AtomicType type);

/// The new bits. Floating-point types are added or exchanged as bits; fp16 and bf16 that are no
/// pairs also have a least and a greatest.
std::uint64_t updated(const AtomicChange& change, std::uint64_t old, std::uint64_t with);

/// Blocks may run on several threads of the host. Returns what was there. Of a comparison, `with`
/// is what shall be there, and `swap` what then replaces it.
template <class T>
T update(std::byte* at, const AtomicChange& change, std::uint64_t with, std::uint64_t swap = 0) {
  const bool compares =
      change.how == Atomic::compare_and_swap || change.how == Atomic::compare_and_swap_reported;
  std::atomic_ref<T> target(*reinterpret_cast<T*>(at));
  T old = target.load();
  for (;;) {
    if (compares && old != static_cast<T>(with)) return old;
    const auto next = static_cast<T>(compares ? swap : updated(change, old, with));
    if (target.compare_exchange_weak(old, next)) return old;
  }
}

/// Changes the element at `to` by the one at `with`.
void reduce(std::byte* to, const std::byte* with, const AtomicChange& change);

/// Of an instruction's modifiers. Throws std::runtime_error where they have none.
Atomic atomic_of(const Decoding& in);
AtomicType atomic_type_of(const Decoding& in);

}  // namespace gpuexp::sim
