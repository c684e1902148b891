// Result of an atomic operation or reduction on one element of memory.
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
  increment,  ///< old + 1, or 0 if old >= operand
  decrement,  ///< old - 1, or the operand if old is 0 or exceeds the operand
  with_and,
  with_or,
  with_xor,
  exchange,
  compare_and_swap,
  /// ATOMS.CAST, which returns whether it stored the new value.
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
  f16,
  bf16
};

struct AtomicChange {
  Atomic how = Atomic::add;
  AtomicType type = AtomicType::u32;
};

std::size_t size_of(AtomicType type);

/// Returns the bits that the operation stores. Floating-point types support only addition; f16 and
/// bf16 also support minimum and maximum. Exchanges must use an integer type.
std::uint64_t updated(const AtomicChange& change, std::uint64_t old, std::uint64_t with);

/// Updates memory atomically, because several host threads may execute blocks, and returns the old
/// value. For a compare-and-swap, `with` is the expected value and `swap` the new value.
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

/// Combines the element at `to` with the element at `with`, and stores the result at `to`.
void reduce(std::byte* to, const std::byte* with, const AtomicChange& change);

/// Returns the operation that the modifiers name. Throws std::runtime_error if they name none.
Atomic atomic_of(const Decoding& in);
/// Returns the type that the modifiers name; u32 if they name none.
AtomicType atomic_type_of(const Decoding& in);

}  // namespace gpuexp::sim
