// The simulator's sums of tensor-core products, compared with recorded results of a GPU
// (tests/unit/data/tensor_sums.txt). tests/gpu/tensor_sum_test.cpp compares many more on a GPU.
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/tensor_numbers.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

/// A row of the file: "wgmma bf16: A * B + C = D".
struct Recorded {
  std::string type;
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
};

Recorded recorded(const std::string& line) {
  Recorded r;
  std::istringstream in(line);
  std::string word;
  in >> word >> r.type;
  r.type.pop_back();  // the colon
  std::vector<std::uint32_t>* to = &r.a;
  const auto bits = [](const std::string& text) {
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return value;
  };
  while (in >> word && word != "+") {
    if (word == "*") {
      to = &r.b;
    } else {
      to->push_back(bits(word));
    }
  }
  in >> word;
  r.c = bits(word);
  in >> word >> word;
  r.d = bits(word);
  return r;
}

std::uint32_t computed(const Recorded& r, bool at_once) {
  std::vector<double> a;
  std::vector<std::int32_t> a_exponent;
  std::vector<SumRow> b(r.b.size());
  std::vector<ExponentRow> b_exponent(r.b.size());
  constexpr unsigned kColumn = kRowColumns - 1;
  for (std::size_t k = 0; k < r.a.size(); ++k) {
    const Number of_a = element(r.type, r.a[k]);
    const Number of_b = element(r.type, r.b[k]);
    a.push_back(of_a.value);
    a_exponent.push_back(of_a.exponent);
    b[k][kColumn] = of_b.value;
    b_exponent[k][kColumn] = of_b.exponent;
  }
  const Number c = addend(r.type, r.c);
  const TensorFactors factors{a.data(), a_exponent.data(), b.data(), b_exponent.data(),
                              static_cast<unsigned>(r.a.size())};
  double sum = sum_of_any(factors, kColumn, c.value, c.exponent, sum_places(r.type));
  if (at_once && std::isfinite(sum)) sum = sum_at_once(r.type, factors, kColumn, c);
  return sum_bits(r.type, factors, kColumn, c, sum);
}

TEST_CASE("sums of products are bitwise identical to a GPU's", "[sim]") {
  std::ifstream file(std::string(GPUEXP_SOURCE_DIR) + "/tests/unit/data/tensor_sums.txt");
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    INFO(line);
    const Recorded r = recorded(line);
    REQUIRE(r.a.size() == r.b.size());
    REQUIRE(r.a.size() >= 8);
    CHECK(computed(r, false) == r.d);
    CHECK(computed(r, true) == r.d);
    ++lines;
  }
  CHECK(lines == 240);
}

TEST_CASE("a sum with a single IEEE 754 rounding differs", "[sim]") {
  std::ifstream file(std::string(GPUEXP_SOURCE_DIR) + "/tests/unit/data/tensor_sums.txt");
  std::size_t differ = 0;
  for (std::string line; std::getline(file, line);) {
    const Recorded r = line.starts_with("mma fp16:") ? recorded(line) : Recorded{};
    double sum = std::bit_cast<float>(r.c);
    for (std::size_t k = 0; k < r.a.size(); ++k)
      sum += element(r.type, r.a[k]).value * element(r.type, r.b[k]).value;
    if (std::isfinite(sum) && !r.a.empty())
      differ += std::bit_cast<std::uint32_t>(static_cast<float>(sum)) != r.d;
  }
  CHECK(differ > 4);
}

}  // namespace
}  // namespace gpuexp::test
