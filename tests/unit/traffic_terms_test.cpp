#include "model/traffic_terms.hpp"

#include <set>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

const TrafficTerm& term(const std::string& id) {
  for (const TrafficTerm& t : traffic_terms()) {
    if (t.id == id) return t;
  }
  throw std::logic_error("no term " + id);
}

TEST_CASE("terms of traffic have names of their own and counters that exist") {
  std::set<std::string_view> ids;
  for (const TrafficTerm& t : traffic_terms()) {
    INFO(std::string(t.id));
    CHECK(ids.insert(t.id).second);
    for (const std::string_view counter : t.counters)
      CHECK(find_counter(counter) != nullptr);
    CHECK(tolerance_of(t.exactness) > 0);
  }
}

TEST_CASE("totals are over kernels, each as often as it is launched") {
  Traffic once;
  once.shared_load = {3, 0, 5};
  once.shared_store = {1, 0, 2};
  once.instructions = 100;
  Traffic thrice;
  thrice.instructions = 10;
  thrice.launches = 3;
  CHECK(total(term("instructions"), {once, thrice}) == 130);
  CHECK(total(term("shared_wavefronts"), {once, thrice}) == 7);
  CHECK(total(term("instructions"), {}) == 0);
}

TEST_CASE("what counts a term adds up, and is missing where a counter is") {
  LaunchCounts counts;
  counts.metrics = {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                    "smsp__inst_executed.sum"};
  counts.kernels = {{"first", {5, 2, 100}}, {"second", {1, 0, 30}}};
  CHECK(counted(term("shared_wavefronts"), counts).value() == 8);
  CHECK(counted(term("instructions"), counts).value() == 130);
  CHECK_FALSE(counted(term("alu"), counts).has_value());
  CHECK_FALSE(counted(term("tensor_operations"), counts).has_value());
}

}  // namespace
}  // namespace gpuexp::test
