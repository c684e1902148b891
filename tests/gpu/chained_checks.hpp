// Expected verification results of the chained family, for either executor.
#pragma once

#include <map>
#include <string>

#include "gpu/chained_family.hpp"
#include "run/executor.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

/// Number of first wrong elements per output of a variant. The problem must be set up.
inline std::map<std::string, std::size_t> wrong_outputs(Executor& executor,
                                                        const Variant& variant) {
  const Verification result = executor.verify(variant, Mode::cold);
  std::map<std::string, std::size_t> wrong;
  for (const Mismatch& m : result.first_wrong)
    ++wrong[m.buffer];
  CHECK(result.passed() == wrong.empty());
  return wrong;
}

/// Checks that each result is compared with the actual inputs of its operation, for any order of
/// variants.
inline void check_each_operation(Executor& executor, const Family& family) {
  using Wrong = std::map<std::string, std::size_t>;
  const auto wrong_in = [&](const char* variant) {
    return wrong_outputs(executor, *family.find(variant));
  };
  CHECK(wrong_in("right").empty());
  const Wrong of_first = wrong_in("wrong_first");
  CHECK((of_first.size() == 1 && of_first.count("y") == 1));
  const Wrong of_second = wrong_in("wrong_second");
  CHECK((of_second.size() == 1 && of_second.count("z") == 1));
  CHECK(wrong_in("right").empty());
}

}  // namespace gpuexp::test
