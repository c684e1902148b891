#include "infer/sample_sizes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/random_bits.hpp"

namespace gpuexp::infer {

namespace {

bool is_prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

/// Different primes from about `scale` to four times that.
std::vector<std::int64_t> primes(std::size_t count, std::int64_t scale) {
  std::vector<std::int64_t> values;
  const auto steps = static_cast<std::int64_t>(count);
  std::int64_t next = 2;
  for (std::int64_t i = 0; i < steps; ++i) {
    next = std::max(next + 1, scale + scale / 8 + 3 * scale * i / steps);
    while (!is_prime(next))
      ++next;
    values.push_back(next);
  }
  return values;
}

std::vector<std::int64_t> multiples(std::size_t count, std::int64_t of) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 1; i <= count; ++i)
    values.push_back(static_cast<std::int64_t>(i) * of);
  return values;
}

}  // namespace

std::vector<Sizes> sample_sizes(std::size_t parameters, std::int64_t multiple_of,
                                std::int64_t scale) {
  constexpr std::size_t kMoreSamples = 3;
  constexpr std::size_t kMoreValues = 5;
  constexpr std::size_t kMinMultiples = 4;
  constexpr std::uint64_t kSeed = 58;
  if (parameters == 0) return {{}};
  const std::vector<std::int64_t> values =
      multiple_of == 1 ? primes(parameters + kMoreValues, scale)
                       : multiples(std::max(parameters + 1, kMinMultiples), multiple_of);
  std::vector<Sizes> samples;
  std::uint64_t draws = 0;
  while (samples.size() < parameters + kMoreSamples) {
    Sizes shuffled = values;
    for (std::size_t i = 0; i < parameters; ++i)
      std::swap(shuffled[i], shuffled[i + random_bits(kSeed, draws++) % (shuffled.size() - i)]);
    shuffled.resize(parameters);
    if (std::find(samples.begin(), samples.end(), shuffled) == samples.end())
      samples.push_back(std::move(shuffled));
  }
  return samples;
}

std::int64_t scale_for(std::size_t parameters) {
  constexpr std::int64_t kScales[] = {1, 300, 130, 34};
  constexpr std::int64_t kOfMore = 8;
  return parameters < std::size(kScales) ? kScales[parameters] : kOfMore;
}

}  // namespace gpuexp::infer
