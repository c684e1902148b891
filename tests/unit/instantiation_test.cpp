// Which instantiation of a kernel template a compiler's errors name.
#include "compile/instantiation.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

Instantiation of(const std::string& kernel, const std::string& arguments) {
  return {kernel, arguments, 1};
}

TEST_CASE("errors of the front end name an instantiation by its values", "[instantiation]") {
  const std::string errors =
      "a.cu: nvcc cannot compile blas::k<3, float>, blas::k<5, float> for sm_90a:\n"
      "a.cu(3): error: static assertion failed with \"even\"\n"
      "          detected during:\n"
      "            instantiation of \"void blas::<unnamed>::inner<N,T,B>(T *) [with N=7U, T=float, "
      "B=false]\" at line 4\n"
      "            instantiation of \"void blas::<unnamed>::k<N,T,B>(T *) [with N=3U, "
      "T=ops::Sum<float, 2>, B=false]\" \n";
  CHECK(is_named_in(errors, of("blas::k", "3, ops::Sum<float, 2>, false")));
  CHECK(is_named_in(errors, of("k", "3,ops::Sum<float,2>")));  // B has a default
  CHECK(is_named_in(errors, of("inner", "7")));
  CHECK(!is_named_in(errors, of("blas::k", "3, float")));
  CHECK(!is_named_in(errors, of("blas::k", "5, float")));
  CHECK(!is_named_in(errors, of("blas::k", "30")));
  CHECK(!is_named_in(errors, of("blas::kk", "3")));
  CHECK(!is_named_in(errors, of("inner", "3")));
}

TEST_CASE("errors of ptxas name an instantiation by its demangled name", "[instantiation]") {
  const std::string errors =
      "ptxas error   : Entry function 'void (anonymous namespace)::tile<128u, 64, float>(float*, "
      "int)' uses too much shared data (0x4e200 bytes, 0x38c00 max)\n";
  CHECK(is_named_in(errors, of("tile", "128, 64, float")));
  CHECK(!is_named_in(errors, of("tile", "128, 6")));
  CHECK(!is_named_in(errors, of("tile", "64, 64, float")));
  CHECK(!is_named_in(errors, of("ile", "128, 64, float")));
  CHECK(!is_named_in("a.cu(3): error: identifier \"M\" is undefined\n", of("tile", "M")));
}

}  // namespace
}  // namespace gpuexp::test
