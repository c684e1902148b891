#include "family/source_counts.hpp"

namespace gpuexp {

const std::vector<SourceMetric>& source_metrics() {
  static const std::vector<SourceMetric> metrics{
      {"smsp__sass_inst_executed", &SourceCounts::warps},
      {"smsp__sass_thread_inst_executed", &SourceCounts::lanes},
      {"smsp__sass_thread_inst_executed_pred_on", &SourceCounts::predicated_lanes},
      {"smsp__sass_sectors_mem_global", &SourceCounts::sectors},
      {"smsp__sass_sectors_mem_global_ideal", &SourceCounts::ideal_sectors},
      {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", &SourceCounts::shared_wavefronts},
      {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
       &SourceCounts::ideal_shared_wavefronts}};
  return metrics;
}

SourceCounts& SourceCounts::operator+=(const SourceCounts& more) {
  for (const SourceMetric& metric : source_metrics())
    this->*metric.member += more.*metric.member;
  return *this;
}

}  // namespace gpuexp
