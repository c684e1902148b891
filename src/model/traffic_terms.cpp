#include "model/traffic_terms.hpp"

#include <cmath>

namespace gpuexp {

double tolerance_of(Exactness exactness) {
  switch (exactness) {
    case Exactness::exact: return std::log(1.02);
    case Exactness::compiled: return std::log(1.15);
    case Exactness::cached: return std::log(1.5);
    case Exactness::hashed: return std::log(2.0);
  }
  return 0;
}

const std::vector<TrafficTerm>& traffic_terms() {
  using enum Exactness;
  constexpr double kDramBytes = 10e6;
  constexpr double kEvents = 1000;
  static const std::vector<TrafficTerm> kTerms{
      {"dram_read_bytes",
       cached,
       [](const Traffic& t) { return t.dram_read_bytes; },
       {"dram_read_bytes"},
       kDramBytes},
      {"dram_write_bytes",
       cached,
       [](const Traffic& t) { return t.dram_write_bytes; },
       {"dram_write_bytes"},
       5 * kDramBytes},
      {"l2_sectors",
       cached,
       [](const Traffic& t) { return t.l2_read_sectors + t.l2_write_sectors; },
       {"l2_sectors"},
       kEvents},
      {"global_load_requests",
       exact,
       [](const Traffic& t) { return t.global_load.requests; },
       {"global_load_requests"},
       kEvents},
      {"global_load_sectors",
       exact,
       [](const Traffic& t) { return t.global_load.sectors; },
       {"global_load_sectors"},
       kEvents},
      {"global_store_requests",
       exact,
       [](const Traffic& t) { return t.global_store.requests; },
       {"global_store_requests"},
       kEvents},
      {"global_store_sectors",
       exact,
       [](const Traffic& t) { return t.global_store.sectors; },
       {"global_store_sectors"},
       kEvents},
      {"l1_data_wavefronts",
       cached,
       [](const Traffic& t) {
         return t.global_load.wavefronts + t.global_store.wavefronts + t.shared_load.wavefronts +
                t.shared_store.wavefronts;
       },
       {"l1_data_wavefronts"},
       kEvents},
      {"l1_tag_wavefronts",
       hashed,
       [](const Traffic& t) {
         return t.global_load.tag_wavefronts + t.global_store.tag_wavefronts;
       },
       {"l1_tag_wavefronts"},
       kEvents},
      {"shared_wavefronts",
       compiled,
       [](const Traffic& t) { return t.shared_load.wavefronts + t.shared_store.wavefronts; },
       {"shared_load_wavefronts", "shared_store_wavefronts"},
       kEvents},
      {"instructions",
       compiled,
       [](const Traffic& t) { return t.instructions; },
       {"warp_instructions"},
       kEvents},
      {"fma", compiled, [](const Traffic& t) { return t.fma; }, {"fma_instructions"}, kEvents},
      {"alu", compiled, [](const Traffic& t) { return t.alu; }, {"alu_instructions"}, kEvents},
      {"fp64", exact, [](const Traffic& t) { return t.fp64; }, {"fp64_instructions"}, kEvents},
      {"xu", compiled, [](const Traffic& t) { return t.xu; }, {"xu_instructions"}, kEvents},
      {"tensor_operations", exact, [](const Traffic& t) { return t.tensor_operations; }, {}},
  };
  return kTerms;
}

double total(const TrafficTerm& term, const std::vector<Traffic>& traffic) {
  double sum = 0;
  for (const Traffic& t : traffic)
    sum += t.launches * term.of(t);
  return sum;
}

std::optional<double> counted(const TrafficTerm& term, const LaunchCounts& counts) {
  if (term.counters.empty()) return std::nullopt;
  double sum = 0;
  for (const std::string_view id : term.counters) {
    const auto value = counted(select_counters({std::string(id)}).front(), counts);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

}  // namespace gpuexp
