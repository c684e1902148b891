#include "analysis/line_share.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sass/issue_pipe.hpp"

namespace gpuexp {

namespace {

using By = LineShare::By;

constexpr double kSectorBytes = 32;
/// Of the tag stage, for each one of other loads (family/warp_access.hpp).
constexpr double kAsyncTagFactor = 2;

double as_double(std::uint64_t count) {
  return static_cast<double>(count);
}

double data_wavefronts(const sim::MemoryCounts& m) {
  return as_double(m.global_wavefronts + m.shared_load_wavefronts + m.shared_store_wavefronts);
}

double tag_wavefronts(const sim::MemoryCounts& m) {
  return as_double(m.tag_wavefronts) + kAsyncTagFactor * as_double(m.async_tag_wavefronts);
}

/// What lines ask of memory in one direction, over a launch.
struct AskedSectors {
  double sectors = 0;
  std::set<std::pair<std::string_view, std::uint32_t>> lines;
};

AskedSectors asked(const std::vector<sim::KernelExecution>& executions,
                   std::uint64_t sim::MemoryCounts::*sectors) {
  AskedSectors sum;
  for (const sim::KernelExecution& execution : executions) {
    for (std::size_t i = 0; i < execution.places.size(); ++i) {
      const std::uint64_t more = execution.places[i].memory.*sectors;
      const ListedInstruction& listed = execution.program->listed[i];
      if (more > 0) sum.lines.insert({listed.file, listed.line});
      sum.sectors += as_double(more);
    }
  }
  return sum;
}

// Whether all sectors that come through were asked for by lines as they are counted: the caches
// before hold none, or what they hold belongs to the one line there is.
bool is_of_lines(const AskedSectors& asked, double served) {
  constexpr double kTolerance = 0.02;
  if (asked.sectors < served * (1 - kTolerance)) return false;
  return asked.lines.size() == 1 || asked.sectors <= served * (1 + kTolerance);
}

double sum_of(const std::vector<Traffic>& traffic, double Traffic::*figure) {
  double sum = 0;
  for (const Traffic& t : traffic)
    sum += t.launches * t.*figure;
  return sum;
}

// Loads have the part of the time that reads take, and stores that of writes.
void share_sectors(LineShare& share, const std::vector<sim::KernelExecution>& executions,
                   double read_sectors, double read_seconds, double written_sectors,
                   double write_seconds) {
  const AskedSectors loaded = asked(executions, &sim::MemoryCounts::load_sectors);
  const AskedSectors stored = asked(executions, &sim::MemoryCounts::store_sectors);
  if ((read_sectors > 0 && !is_of_lines(loaded, read_sectors)) ||
      (written_sectors > 0 && !is_of_lines(stored, written_sectors))) {
    share.why_empty = fmt::format(
        "caches before {} serve part of what lines ask for, and which lines' part is not counted",
        share.resource);
    return;
  }
  share.by = By::sectors;
  share.amount =
      "sectors, those of loads by the time of reads and those of stores by that of writes";
  if (loaded.sectors > 0) share.per_load_sector = read_seconds / loaded.sectors;
  if (stored.sectors > 0) share.per_store_sector = write_seconds / stored.sectors;
}

void share_l2(LineShare& share, const std::vector<Traffic>& traffic, const Ceilings& ceilings,
              const std::vector<sim::KernelExecution>& executions) {
  const double read = sum_of(traffic, &Traffic::l2_read_sectors);
  const double written = sum_of(traffic, &Traffic::l2_write_sectors);
  share_sectors(share, executions, read, read / ceilings.l2_read_bytes_per_s.value_or(1), written,
                written / ceilings.l2_write_bytes_per_s.value_or(1));
}

void share_dram(LineShare& share, const std::vector<Traffic>& traffic,
                const std::vector<sim::KernelExecution>& executions) {
  const double read = sum_of(traffic, &Traffic::dram_read_bytes) / kSectorBytes;
  const double written = sum_of(traffic, &Traffic::dram_write_bytes) / kSectorBytes;
  share_sectors(share, executions, read, read, written, written);
}

void share_data_stage(LineShare& share, const std::vector<sim::KernelExecution>& executions) {
  double data = 0;
  double tags = 0;
  for (const sim::KernelExecution& execution : executions) {
    data += data_wavefronts(execution.memory);
    tags += tag_wavefronts(execution.memory);
  }
  share.by = tags > data ? By::tag_stage : By::data_stage;
  share.amount = tags > data
                     ? "wavefronts of L1's tag stage"
                     : "wavefronts of the data stage that L1 and shared memory have in common";
}

bool share_pipe(LineShare& share) {
  constexpr std::pair<std::string_view, IssuePipe> kPipes[] = {{"fma", IssuePipe::fma},
                                                               {"alu", IssuePipe::alu},
                                                               {"fp64", IssuePipe::fp64},
                                                               {"xu", IssuePipe::xu}};
  for (const auto& [name, pipe] : kPipes) {
    if (share.resource != name) continue;
    share.by = By::pipe;
    share.pipe = pipe;
    share.amount = fmt::format("warp instructions of the {} pipe", name);
    return true;
  }
  return false;
}

}  // namespace

LineShare line_share(const Prediction& prediction, const Ceilings& ceilings,
                     const std::vector<sim::KernelExecution>& executions) {
  LineShare share;
  share.why_empty = "no time is predicted";
  for (const Term& term : prediction.terms) {
    if (term.resource == "launch" || term.resource == "blocks" || term.resource == "latency")
      continue;
    share.resource = term.resource;
    share.time_us = term.time_us;
    share.why_empty.clear();
    break;
  }
  if (share.resource == "l2") {
    share_l2(share, prediction.traffic, ceilings, executions);
  } else if (share.resource == "dram") {
    share_dram(share, prediction.traffic, executions);
  } else if (share.resource == "l1" || share.resource == "shared") {
    share_data_stage(share, executions);
  } else if (share.resource == "issue") {
    share.by = By::instructions;
    share.amount = "warp instructions";
  } else if (share.resource == "tensor") {
    share.by = By::tensor;
    share.amount = "multiply-adds of the tensor cores";
  } else if (!share.resource.empty() && !share_pipe(share)) {
    share.why_empty = fmt::format("what lines ask of {} is not counted", share.resource);
  }
  return share;
}

double demand(const LineShare& share, const sim::KernelExecution& execution, std::size_t place) {
  const ListedInstruction& listed = execution.program->listed[place];
  const double warps = as_double(execution.counts[place].warps);
  const sim::MemoryCounts& memory = execution.places[place].memory;
  switch (share.by) {
    case By::nothing: return 0;
    case By::instructions: return warps;
    case By::pipe: return issue_pipe(listed.opcode, listed.operands) == share.pipe ? warps : 0;
    case By::tensor: return warps * tensor_multiply_adds(listed.opcode);
    case By::data_stage: return data_wavefronts(memory);
    case By::tag_stage: return tag_wavefronts(memory);
    case By::sectors:
      return as_double(memory.load_sectors) * share.per_load_sector +
             as_double(memory.store_sectors) * share.per_store_sector;
  }
  return 0;
}

}  // namespace gpuexp
