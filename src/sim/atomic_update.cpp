#include "sim/atomic_update.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/float_values.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

namespace {

template <class T>
T updated_integer(Atomic how, T old, T with) {
  switch (how) {
    case Atomic::add:
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(with));
    case Atomic::min: return std::min(old, with);
    case Atomic::max: return std::max(old, with);
    case Atomic::increment: return old >= with ? T{0} : static_cast<T>(old + 1);
    case Atomic::decrement: return old == 0 || old > with ? with : static_cast<T>(old - 1);
    case Atomic::with_and: return old & with;
    case Atomic::with_or: return old | with;
    case Atomic::with_xor: return old ^ with;
    default: return with;
  }
}

std::uint32_t sum_bits(float sum) {
  return sum != sum ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
}

template <SmallFloat format>
std::uint32_t pair_sum(std::uint64_t a, std::uint64_t b) {
  std::uint32_t result = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const double sum = sum_to_odd(value_of<format>(static_cast<std::uint32_t>(a >> 16 * half)),
                                  value_of<format>(static_cast<std::uint32_t>(b >> 16 * half)));
    result |= round_to<format>(sum) << 16 * half;
  }
  return result;
}

// For minimum and maximum, -0 is less than +0. If one operand is NaN, returns the other operand.
template <SmallFloat format>
std::uint32_t updated_half(Atomic how, std::uint32_t old, std::uint32_t with) {
  constexpr std::uint32_t kHalf = 0xffff;
  if (how == Atomic::add) return pair_sum<format>(old & kHalf, with & kHalf) & kHalf;
  const float a = value_of<format>(old);
  const float b = value_of<format>(with);
  if (a != a || b != b) return a != a ? with & kHalf : old & kHalf;
  const bool is_less = b < a || (b == a && std::signbit(b) && !std::signbit(a));
  const bool replaces = how == Atomic::min ? is_less : b != a ? !is_less : !std::signbit(b);
  return (replaces ? with : old) & kHalf;
}

}  // namespace

std::uint64_t updated(const AtomicChange& change, std::uint64_t old, std::uint64_t with) {
  const auto low = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  switch (change.type) {
    case AtomicType::u32: return updated_integer(change.how, low(old), low(with));
    case AtomicType::s32:
      return low(static_cast<std::uint64_t>(updated_integer(
          change.how, static_cast<std::int32_t>(old), static_cast<std::int32_t>(with))));
    case AtomicType::u64: return updated_integer(change.how, old, with);
    case AtomicType::s64:
      return static_cast<std::uint64_t>(updated_integer(change.how, static_cast<std::int64_t>(old),
                                                        static_cast<std::int64_t>(with)));
    case AtomicType::f32:
      return sum_bits(std::bit_cast<float>(low(old)) + std::bit_cast<float>(low(with)));
    case AtomicType::f32_ftz:
      return sum_bits(flushed(flushed(std::bit_cast<float>(low(old))) +
                              flushed(std::bit_cast<float>(low(with)))));
    case AtomicType::f64: {
      // Returns the operand unchanged if it is NaN, else the value in memory if it is NaN.
      if (std::isnan(std::bit_cast<double>(with))) return with;
      if (std::isnan(std::bit_cast<double>(old))) return old;
      const double sum = std::bit_cast<double>(old) + std::bit_cast<double>(with);
      return sum != sum ? kNan64 : std::bit_cast<std::uint64_t>(sum);
    }
    case AtomicType::f16x2: return pair_sum<kFp16>(old, with);
    case AtomicType::bf16x2: return pair_sum<kBf16>(old, with);
    case AtomicType::f16: return updated_half<kFp16>(change.how, low(old), low(with));
    case AtomicType::bf16: return updated_half<kBf16>(change.how, low(old), low(with));
  }
  return old;
}

std::size_t size_of(AtomicType type) {
  switch (type) {
    case AtomicType::u64:
    case AtomicType::s64:
    case AtomicType::f64: return 8;
    case AtomicType::f16:
    case AtomicType::bf16: return 2;
    default: return 4;
  }
}

void reduce(std::byte* to, const std::byte* with, const AtomicChange& change) {
  std::uint64_t value = 0;
  std::memcpy(&value, with, size_of(change.type));
  switch (size_of(change.type)) {
    case 8: update<std::uint64_t>(to, change, value); break;
    case 2: update<std::uint16_t>(to, change, value); break;
    default: update<std::uint32_t>(to, change, value); break;
  }
}

Atomic atomic_of(const Decoding& in) {
  constexpr std::array<std::pair<std::string_view, Atomic>, 11> kAtomics{
      {{"ADD", Atomic::add},
       {"MIN", Atomic::min},
       {"MAX", Atomic::max},
       {"INC", Atomic::increment},
       {"DEC", Atomic::decrement},
       {"AND", Atomic::with_and},
       {"OR", Atomic::with_or},
       {"XOR", Atomic::with_xor},
       {"EXCH", Atomic::exchange},
       {"CAS", Atomic::compare_and_swap},
       {"CAST", Atomic::compare_and_swap_reported}}};
  for (const auto& [name, atomic] : kAtomics) {
    if (in.has(name)) return atomic;
  }
  in.refuse("this form is not executed");
}

AtomicType atomic_type_of(const Decoding& in) {
  if (in.has("F16x2") || in.has("F16x4") || in.has("F16x8")) return AtomicType::f16x2;
  if (in.has("BF16x2") || in.has("BF16x4") || in.has("BF16x8")) return AtomicType::bf16x2;
  if (in.has("F16")) return AtomicType::f16;
  if (in.has("BF16")) return AtomicType::bf16;
  if (in.has("F64")) return AtomicType::f64;
  if (in.has("F32") || in.has("F32x2") || in.has("F32x4"))
    return in.has("FTZ") ? AtomicType::f32_ftz : AtomicType::f32;
  if (in.has("S64")) return AtomicType::s64;
  if (in.has("S32")) return AtomicType::s32;
  return in.has("64") || in.has("U64") ? AtomicType::u64 : AtomicType::u32;
}

}  // namespace gpuexp::sim
