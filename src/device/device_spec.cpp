#include "device/device_spec.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace gpuexp {

namespace {

struct SmFacts {
  int cc_major, cc_minor;
  SmLimits limits;
  SmRates rates;
};

constexpr std::int64_t kKiB = 1024;
constexpr int kRegisters = 64 * 1024;  // the same for all architectures listed

// Limits: threads, blocks, registers, shared memory per SM, shared memory per block, and bytes
// reserved by the runtime per block. Rates: issue, fma, alu, fp64, xu. The rate of a pipe is the
// rate of one of its instructions: fp32 multiply-adds for fma, integer additions for alu,
// multiply-adds for fp64, reciprocals and logarithms for xu.
constexpr SmFacts kSms[] = {
    {7, 0, {2048, 32, kRegisters, 96 * kKiB, 96 * kKiB, 0}, {4, 2, 2, 1, 0.5}},
    {7, 5, {1024, 16, kRegisters, 64 * kKiB, 64 * kKiB, 0}, {4, 2, 2, 0.0625, 0.5}},
    {8, 0, {2048, 32, kRegisters, 164 * kKiB, 163 * kKiB, kKiB}, {4, 2, 2, 1, 0.5}},
    {8, 6, {1536, 16, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}, {4, 4, 2, 0.0625, 0.5}},
    {8, 7, {1536, 16, kRegisters, 164 * kKiB, 163 * kKiB, kKiB}, {4, 4, 2, 0.0625, 0.5}},
    {8, 9, {1536, 24, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}, {4, 4, 2, 0.0625, 0.5}},
    {9, 0, {2048, 32, kRegisters, 228 * kKiB, 227 * kKiB, kKiB}, {4, 4, 2, 2, 0.5}},
    {10, 0, {2048, 32, kRegisters, 228 * kKiB, 227 * kKiB, kKiB}, {4, 4, 2, 2, 0.5}},
    // fp64 has only 2 results per cycle. ex2 has twice the rate of other xu instructions.
    {10, 3, {2048, 32, kRegisters, 228 * kKiB, 227 * kKiB, kKiB}, {4, 4, 2, 0.0625, 0.5}},
    // Additions, minima and maxima use all lanes; shifts and logic run at half this rate.
    {12, 0, {1536, 24, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}, {4, 4, 4, 0.0625, 0.5}},
    {12, 1, {1536, 24, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}, {4, 4, 4, 0.0625, 0.5}},
};

const SmFacts& facts_of(int cc_major, int cc_minor, const char* what) {
  std::string known;
  for (const SmFacts& sm : kSms) {
    if (sm.cc_major == cc_major && sm.cc_minor == cc_minor) return sm;
    known += fmt::format("{}{}.{}", known.empty() ? "" : ", ", sm.cc_major, sm.cc_minor);
  }
  throw std::out_of_range(fmt::format("{} of compute capability {}.{} are unknown; known: {}", what,
                                      cc_major, cc_minor, known));
}

}  // namespace

SmLimits sm_limits(int cc_major, int cc_minor) {
  return facts_of(cc_major, cc_minor, "limits").limits;
}

SmRates sm_rates(int cc_major, int cc_minor) {
  return facts_of(cc_major, cc_minor, "rates").rates;
}

}  // namespace gpuexp
