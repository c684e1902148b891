#include "run/small_problem.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/fake_family.hpp"

namespace gpuexp {
namespace {

std::vector<const Variant*> own_variants(const Family& family) {
  std::vector<const Variant*> variants;
  for (const Variant& variant : family.variants)
    if (!variant.is_vendor) variants.push_back(&variant);
  return variants;
}

/// Values of the fake matrix product, "m n k".
std::string small_product(const Family& family, std::int64_t m, std::int64_t n, std::int64_t k,
                          const std::set<std::string>& fixed = {}) {
  Values values = family.defaults();
  const std::int64_t given[] = {m, n, k};
  std::size_t next = 0;
  for (std::size_t i = 0; i < values.size() && next < 3; ++i)
    if (family.parameters[i].is_extent) values[i] = given[next++];
  const Values small = small_values(family, own_variants(family), values, fixed, DeviceSpec());
  std::string text;
  for (std::size_t i = 0; i < small.size(); ++i)
    if (family.parameters[i].is_extent)
      text += (text.empty() ? "" : " ") + std::to_string(std::get<std::int64_t>(small[i]));
  return text;
}

TEST_CASE("the largest value is halved until a launch is small") {
  const Family family = *fake::registry().find("matmul");
  CHECK(small_product(family, 100, 100, 100) == "100 100 100");
  const std::string small = small_product(family, 4096, 4096, 4096);
  CHECK(small != "4096 4096 4096");
  CHECK(small == small_product(family, 4096, 4096, 8192));
  // 65 and 63: the first is halved, the second is not.
  const std::string uneven = small_product(family, 1 << 16, 1 << 16, 63);
  CHECK(uneven.ends_with(" 63"));
  CHECK(small_product(family, 4096, 4096, 4096, {family.parameters[0].name}).starts_with("4096 "));
}

TEST_CASE("a value is not halved if the declaration cannot be evaluated for the half") {
  Family family = *fake::registry().find("matmul");
  family.make_problem = [make = family.make_problem](const Values& values) {
    for (const Value& value : values) {
      const auto* const number = std::get_if<std::int64_t>(&value);
      if (number && *number < 1024) throw std::runtime_error("too small");
    }
    return make(values);
  };
  CHECK(small_product(family, 4096, 4096, 4096) == "1024 1024 1024");
}

TEST_CASE("a value is not halved if the family or a variant cannot run the half") {
  Family family = *fake::registry().find("matmul");
  family.unsupported = [](const void*, const DeviceSpec&) { return std::optional<std::string>(); };
  const std::string small = small_product(family, 4096, 4096, 4096);
  int calls = 0;
  family.variants.front().unsupported = [&calls](const void*, const DeviceSpec&) {
    ++calls;
    return calls == 1 ? std::nullopt : std::optional<std::string>("needs the given size");
  };
  CHECK(small_product(family, 4096, 4096, 4096) == "4096 4096 4096");
  CHECK(small != "4096 4096 4096");
}

}  // namespace
}  // namespace gpuexp
