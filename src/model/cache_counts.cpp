#include "model/cache_counts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuexp {

namespace {

constexpr std::array<std::pair<std::string_view, double CacheCounts::*>, 6> kMetrics{{
    {"l1tex__t_sectors.sum", &CacheCounts::l1_sectors},
    {"l1tex__t_sectors_lookup_hit.sum", &CacheCounts::l1_hits},
    {"lts__t_sectors_srcunit_tex.sum", &CacheCounts::l2_sectors},
    {"lts__t_sectors_srcunit_tex_lookup_hit.sum", &CacheCounts::l2_hits},
    {"dram__bytes_read.sum", &CacheCounts::dram_read_bytes},
    {"dram__bytes_write.sum", &CacheCounts::dram_written_bytes},
}};

constexpr std::array<std::pair<std::string_view, double CacheCounts::*>, 7> kParts{{
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", &CacheCounts::shared_load_repeats},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", &CacheCounts::shared_store_repeats},
    // The hardware counts each wavefront that the accessed words do not require as a conflict.
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", &CacheCounts::shared_load_repeats},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", &CacheCounts::shared_store_repeats},
    {"l1tex__data_pipe_lsu_wavefronts.sum", &CacheCounts::shared_load_repeats},
    {"l1tex__data_pipe_lsu_wavefronts.sum", &CacheCounts::shared_store_repeats},
    {"l1tex__data_pipe_lsu_wavefronts.sum", &CacheCounts::extra_wavefronts},
}};

}  // namespace

bool has_cache_part(std::string_view metric) {
  return cache_metric(metric) || std::any_of(kParts.begin(), kParts.end(), [&](const auto& part) {
           return part.first == metric;
         });
}

double CacheCounts::*cache_metric(std::string_view metric) {
  const auto found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                  [&](const auto& known) { return known.first == metric; });
  return found == kMetrics.end() ? nullptr : found->second;
}

void add_cache_counts(LaunchCounts& counts, const std::vector<CacheCounts>& kernels) {
  if (counts.kernels.size() != kernels.size()) return;
  for (std::size_t m = 0; m < counts.metrics.size(); ++m) {
    const auto member = cache_metric(counts.metrics[m]);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      double& value = counts.kernels[k].values.at(m);
      if (member) value = kernels[k].*member;
      for (const auto& [metric, part] : kParts) {
        if (metric == counts.metrics[m]) value += kernels[k].*part;
      }
    }
  }
}

}  // namespace gpuexp
