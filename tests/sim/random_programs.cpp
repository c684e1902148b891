#include "sim/random_programs.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <sstream>

#include <fmt/format.h>

namespace gpuexp::test {

namespace {

constexpr std::uint64_t kPoison = 0xcdcdcdcdcdcdcdcd;

std::map<int, std::pair<const RandomProgram*, std::size_t>>& files() {
  static std::map<int, std::pair<const RandomProgram*, std::size_t>> all;
  return all;
}

/// SplitMix64: the same numbers on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::uint64_t below(std::uint64_t count) { return (next() >> 11) % count; }

 private:
  std::uint64_t state_;
};

std::uint64_t hash(std::uint64_t so_far, const void* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data) + at, sizeof word);
    so_far = Numbers(so_far ^ word).next();
  }
  return so_far;
}

/// A number with `exponent_bits` and `fraction_bits`: any bits, or a value at an edge of the
/// format.
std::uint64_t float_bits(Numbers& random, int exponent_bits, int fraction_bits) {
  const std::uint64_t fraction = (std::uint64_t{1} << fraction_bits) - 1;
  const std::uint64_t exponents = (std::uint64_t{1} << exponent_bits) - 1;
  const std::uint64_t bias = exponents / 2;
  const std::uint64_t sign = random.below(2) << (exponent_bits + fraction_bits);
  const std::uint64_t some = random.next() & fraction;
  const std::uint64_t edges[] = {0, 0, 1, fraction, fraction - 1, fraction / 2 + 1, some, some};
  const std::uint64_t edge = edges[random.below(std::size(edges))];
  switch (random.below(8)) {
    case 0: return sign | random.below(exponents + 1) << fraction_bits | some;
    case 1: return sign | exponents << fraction_bits | (random.below(2) ? edge : 0);
    case 2: return sign | edge;  // subnormal or zero
    case 3: return sign | (1 + random.below(3)) << fraction_bits | edge;
    case 4: return sign | (exponents - 1 - random.below(3)) << fraction_bits | edge;
    case 5: return sign | bias << fraction_bits | edge;
    case 6: {
      const std::uint64_t near = std::min<std::uint64_t>(40, bias);
      return sign | (bias - near / 2 + random.below(near)) << fraction_bits | edge;
    }
    default: return sign | (bias - 4 + random.below(8)) << fraction_bits | some;
  }
}

std::uint64_t integer_bits(Numbers& random, int bits) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t one = std::uint64_t{1} << random.below(static_cast<std::uint64_t>(bits));
  switch (random.below(8)) {
    case 0: return random.below(4);
    case 1: return all - random.below(3);
    case 2: return ((all >> 1) + random.below(3)) & all;  // near the minimum and the maximum
    case 3: return one;
    case 4: return (one - 1) & all;
    case 5: return (0 - one) & all;
    case 6: return random.below(256);
    default: return random.next() & all;
  }
}

/// 16-bit number; once in 24, the NaN that marks elements outside of a tensor.
std::uint64_t half_bits(Numbers& random, int exponent_bits, int fraction_bits) {
  constexpr std::uint64_t kOutside = 0x7ff7;
  if (random.below(24) == 0) return kOutside | random.below(2) << 15;
  return float_bits(random, exponent_bits, fraction_bits);
}

std::uint32_t pair_bits(Numbers& random, int exponent_bits, int fraction_bits) {
  const std::uint64_t low = half_bits(random, exponent_bits, fraction_bits);
  return static_cast<std::uint32_t>(low | half_bits(random, exponent_bits, fraction_bits) << 16);
}

std::uint64_t memory_bits(Numbers& random) {
  switch (random.below(4)) {
    case 0: return float_bits(random, 8, 23) << 32 | float_bits(random, 8, 23);
    case 1: return float_bits(random, 11, 52);
    case 2: return std::uint64_t{pair_bits(random, 5, 10)} << 32 | pair_bits(random, 8, 7);
    default: return integer_bits(random, 64);
  }
}

// Input words of a thread, in the layout of tests/scripts/random_programs/generator.py.
void fill_thread(Numbers& random, std::uint32_t* words) {
  const auto wide = [&](unsigned at, std::uint64_t bits) {
    words[at] = static_cast<std::uint32_t>(bits);
    words[at + 1] = static_cast<std::uint32_t>(bits >> 32);
  };
  for (unsigned w = 0; w < 8; ++w)
    words[w] = static_cast<std::uint32_t>(integer_bits(random, 32));
  for (unsigned w = 8; w < 14; ++w)
    words[w] = static_cast<std::uint32_t>(float_bits(random, 8, 23));
  for (unsigned w = 14; w < 17; ++w)
    words[w] = pair_bits(random, 5, 10);
  for (unsigned w = 17; w < 20; ++w)
    words[w] = pair_bits(random, 8, 7);
  for (unsigned w = 20; w < 24; w += 2)
    wide(w, integer_bits(random, 64));
  for (unsigned w = 24; w < 30; w += 2)
    wide(w, float_bits(random, 11, 52));
  for (unsigned w = 30; w < kInputWords; ++w)
    words[w] = static_cast<std::uint32_t>(random.next());
}

std::uint64_t value_of_input(const RandomLaunch& launch, const std::string& place,
                             unsigned thread) {
  std::size_t read = 0;
  const std::size_t word = std::stoul(place.substr(1), &read);
  const std::uint32_t* const words = &launch.inputs[thread * kInputWords + word];
  if (place[read + 1] == '.') return words[0] >> (place.back() == '1' ? 16 : 0) & 0xffff;
  return place.back() == '8' ? words[0] | std::uint64_t{words[1]} << 32 : words[0];
}

}  // namespace

RandomProgramsOfFile::RandomProgramsOfFile(int number, const RandomProgram* programs,
                                           std::size_t count) {
  files()[number] = {programs, count};
}

std::vector<RandomProgram> random_programs() {
  std::vector<RandomProgram> all;
  for (const auto& [number, programs] : files())
    all.insert(all.end(), programs.first, programs.first + programs.second);
  return all;
}

RandomLaunch::RandomLaunch(const RandomProgram& program, unsigned round)
    : inputs(kRandomThreads * kInputWords),
      results(program.slots * kRandomThreads, kPoison),
      memory(kRandomThreads * kMemoryBytes / sizeof(std::uint64_t)) {
  Numbers random(hash(round, program.name, std::strlen(program.name) / 8 * 8) ^
                 hash(1, &program.slots, sizeof program.slots));
  for (unsigned t = 0; t < kRandomThreads; ++t)
    fill_thread(random, &inputs[t * kInputWords]);
  for (std::uint64_t& word : memory)
    word = memory_bits(random);
  uniform[0] = static_cast<std::uint32_t>(integer_bits(random, 32));
  uniform[1] = static_cast<std::uint32_t>(integer_bits(random, 32));
  uniform[2] = static_cast<std::uint32_t>(float_bits(random, 8, 23));
  uniform[3] = static_cast<std::uint32_t>(float_bits(random, 8, 23));
}

Steps RandomLaunch::steps(const RandomProgram& program, const void* from, void* to,
                          void* of_memory) const {
  Shape shape;
  shape.kernel = program.kernel;
  shape.grid = {kRandomThreads / kRandomBlockThreads, 1, 1};
  shape.block = {kRandomBlockThreads, 1, 1};
  PackedArguments arguments;
  arguments.add(from);
  arguments.add(to);
  arguments.add(of_memory);
  for (const std::uint32_t word : uniform)
    arguments.add(word);
  return Steps(KernelStep{shape, std::move(arguments)});
}

std::uint64_t hash_of(const RandomLaunch& launch) {
  const auto bytes = [](const auto& of) { return of.size() * sizeof of[0]; };
  return hash(hash(0, launch.results.data(), bytes(launch.results)), launch.memory.data(),
              bytes(launch.memory));
}

std::string RandomResult::opcode() const {
  std::istringstream in(text);
  std::string word;
  in >> word;
  if (word.starts_with("@")) in >> word;
  return word;
}

std::vector<RandomResult> results_of(const RandomProgram& program) {
  std::vector<RandomResult> all;
  std::istringstream in(program.results);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find('|');
    const std::size_t second = line.find('|', first + 1);
    all.push_back({line.substr(0, first), line.substr(first + 1, second - first - 1),
                   line.substr(second + 1)});
  }
  return all;
}

std::vector<const RandomResult*> operands_of(const std::vector<RandomResult>& results,
                                             const RandomResult& of) {
  std::vector<const RandomResult*> operands;
  std::string word;
  const std::string text = of.text.substr(0, of.text.find('=')) + " ";
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
      continue;
    }
    for (const RandomResult& known : results) {
      const bool is_own = known.text == of.text && known.is_slot();
      if (known.name == word && !is_own) operands.push_back(&known);
    }
    word.clear();
  }
  return operands;
}

std::uint64_t value_of(const RandomLaunch& launch, const RandomResult& result, unsigned thread) {
  if (!result.is_slot()) return value_of_input(launch, result.place, thread);
  return launch.results[result.slot() * kRandomThreads + thread];
}

bool is_root(const std::vector<RandomResult>& results, const RandomLaunch& got,
             const RandomLaunch& expected, const RandomResult& result, unsigned thread) {
  for (const RandomResult* operand : operands_of(results, result)) {
    if (value_of(got, *operand, thread) != value_of(expected, *operand, thread)) return false;
  }
  return true;
}

std::string explained(const std::vector<RandomResult>& results, const RandomLaunch& got,
                      const RandomLaunch& expected, const RandomResult& result, unsigned thread) {
  std::string text = fmt::format("{}; thread {}", result.text, thread);
  for (const RandomResult* operand : operands_of(results, result))
    text += fmt::format(", {} = {:x}", operand->name, value_of(got, *operand, thread));
  for (unsigned i = 0; i < 4; ++i) {
    if (result.text.find(fmt::format("u{}", i)) != std::string::npos)
      text += fmt::format(", u{} = {:x}", i, got.uniform[i]);
  }
  return text + fmt::format("; got {:x}, expected {:x}", value_of(got, result, thread),
                            value_of(expected, result, thread));
}

}  // namespace gpuexp::test
