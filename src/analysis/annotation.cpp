#include "analysis/annotation.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace gpuexp {

namespace {

using sim::Access;
using sim::Space;

std::string instruction_text(const ListedInstruction& i) {
  return fmt::format("{}{}{}{}{}", i.guard, i.guard.empty() ? "" : " ", i.opcode,
                     i.operands.empty() ? "" : " ", i.operands);
}

ExecutedCounts counts_of(const sim::KernelExecution& execution, std::size_t place,
                         const KernelCodeTime* time) {
  const sim::OpCount& op = execution.counts[place];
  const sim::PlaceCounts& counted = execution.places[place];
  const sim::MemoryCounts& memory = counted.memory;
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  ExecutedCounts counts;
  counts.warps = number(op.warps);
  counts.lanes = number(op.lanes);
  counts.predicated_lanes = number(op.predicated_lanes);
  counts.load_requests = number(memory.load_requests);
  counts.load_sectors = number(memory.load_sectors);
  counts.ideal_load_sectors = number(counted.ideal_load_sectors);
  counts.store_requests = number(memory.store_requests);
  counts.store_sectors = number(memory.store_sectors);
  counts.ideal_store_sectors = number(counted.ideal_store_sectors);
  const std::uint64_t shared = memory.shared_load_wavefronts + memory.shared_store_wavefronts;
  counts.shared_requests = number(counted.shared_requests);
  counts.shared_wavefronts = number(shared + counted.async_write_wavefronts);
  counts.ideal_shared_wavefronts = counts.shared_wavefronts - number(memory.shared_conflicts);
  counts.data_wavefronts = number(shared + memory.global_wavefronts);
  counts.tag_wavefronts = number(memory.tag_wavefronts + memory.async_tag_wavefronts);
  if (!time) return counts;
  counts.time_us = time->places_us[place];
  if (place >= time->lookups.size()) return counts;
  counts.l1 = time->lookups[place];
  // L1's additional wavefronts are known only for the blocks that the prediction executed. They are
  // scaled to all blocks by the ratio of the sectors.
  if (counts.l1.all > 0)
    counts.data_wavefronts +=
        counts.l1.extra_wavefronts * (counts.load_sectors + counts.store_sectors) / counts.l1.all;
  return counts;
}

void add_instructions(AnnotatedKernel& kernel, const sim::KernelExecution& execution,
                      const KernelCodeTime* time, const BufferName& name_of) {
  const auto& listed = execution.program->listed;
  const bool is_first = kernel.instructions.empty();
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (is_first) {
      const ListedInstruction& l = listed[i];
      kernel.instructions.push_back({static_cast<std::uint32_t>(i),
                                     l.address,
                                     instruction_text(l),
                                     {std::string(l.file), l.line},
                                     {std::string(l.from_file), l.from_line},
                                     {},
                                     {}});
    }
    AnnotatedInstruction& instruction = kernel.instructions[i];
    instruction.counts += counts_of(execution, i, time);
    if (instruction.access.empty()) instruction.access = access_text(execution.places[i], name_of);
  }
}

void add_counted(AnnotatedKernel& kernel, const std::vector<CountedInstruction>& counted) {
  for (const CountedInstruction& c : counted) {
    if (c.kernel != kernel.program->name) continue;
    const auto found = std::lower_bound(
        kernel.instructions.begin(), kernel.instructions.end(), c.address,
        [](const AnnotatedInstruction& i, std::uint32_t address) { return i.address < address; });
    if (found != kernel.instructions.end() && found->address == c.address)
      found->counts.gpu += c.counts;
  }
}

void add_access(AnnotatedLine& line, const AnnotatedInstruction& instruction) {
  if (instruction.access.empty()) return;
  const auto found = std::ranges::find(line.accesses, instruction.access, &LineAccess::access);
  LineAccess& access = found == line.accesses.end() ? line.accesses.emplace_back() : *found;
  access.access = instruction.access;
  access.counts += instruction.counts;
}

// The file of the first instruction that was not inlined from another function and whose file is
// known.
std::string own_file(const AnnotatedKernel& kernel) {
  for (const AnnotatedInstruction& instruction : kernel.instructions) {
    if (instruction.from.file.empty() && !instruction.at.file.empty()) return instruction.at.file;
  }
  return "";
}

void add_lines(AnnotatedKernel& kernel) {
  std::map<SourceLine, AnnotatedLine> lines;
  for (const AnnotatedInstruction& instruction : kernel.instructions) {
    if (instruction.counts.warps == 0) continue;
    AnnotatedLine& line = lines[instruction.at];
    line.at = instruction.at;
    line.counts += instruction.counts;
    add_access(line, instruction);
    const SourceLine& from = instruction.from;
    if (from.file.empty()) continue;
    const auto place = std::lower_bound(line.from.begin(), line.from.end(), from);
    if (place == line.from.end() || *place != from) line.from.insert(place, from);
  }
  for (auto& [at, line] : lines)
    kernel.lines.push_back(std::move(line));
  std::stable_partition(kernel.lines.begin(), kernel.lines.end(),
                        [own = own_file(kernel)](const auto& l) { return l.at.file == own; });
}

}  // namespace

std::string to_text(const SourceLine& line) {
  return line.file.empty() ? "(no line)" : fmt::format("{}:{}", line.file, line.line);
}

ExecutedCounts& ExecutedCounts::operator+=(const ExecutedCounts& more) {
  for (const NamedCount& count : kExecutedCounts)
    this->*count.member += more.*count.member;
  time_us += more.time_us;
  l1 += more.l1;
  gpu += more.gpu;
  return *this;
}

std::string access_text(const sim::PlaceCounts& counts, const BufferName& name_of) {
  struct Kind {
    Access kind;
    const char* words;
  };
  // cp.async and bulk copies are listed with their accesses to global memory, but not with their
  // accesses to shared memory.
  constexpr Kind kGlobal[] = {{Access::load, "load of"},
                              {Access::store, "store to"},
                              {Access::atomic, "atomic on"},
                              {Access::reduction, "reduction on"},
                              {Access::async_load, "cp.async from"},
                              {Access::bulk_load, "bulk copy from"},
                              {Access::bulk_store, "bulk copy to"}};
  constexpr Kind kShared[] = {{Access::load, "load of shared"},
                              {Access::store, "store to shared"},
                              {Access::atomic, "atomic on shared"},
                              {Access::matrix_load, "operands in shared"}};
  std::vector<std::string> parts;
  std::string buffer;
  if (counts.lowest <= counts.highest) {
    buffer = name_of(counts.lowest);
    if (name_of(counts.highest) != buffer) buffer = "several buffers";
  }
  for (const Kind& k : kGlobal) {
    if (counts.has(Space::global, k.kind)) parts.push_back(fmt::format("{} {}", k.words, buffer));
  }
  for (const Kind& k : kShared) {
    if (counts.has(Space::shared, k.kind)) parts.emplace_back(k.words);
  }
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

Annotation annotate(const std::vector<sim::KernelExecution>& executions,
                    const std::vector<Shape>& shapes, const std::vector<KernelCodeTime>& times,
                    const std::vector<CountedInstruction>& counted, const BufferName& name_of) {
  Annotation annotation;
  std::map<const sim::Program*, std::size_t> kernel_of;
  for (std::size_t i = 0; i < executions.size(); ++i) {
    const auto [found, is_new] =
        kernel_of.try_emplace(executions[i].program, annotation.kernels.size());
    if (is_new) annotation.kernels.emplace_back();
    AnnotatedKernel& kernel = annotation.kernels[found->second];
    kernel.program = executions[i].program;
    kernel.name = kernel_name(kernel.program->name);
    if (i < shapes.size()) kernel.shapes.push_back(shapes[i]);
    const auto time = std::ranges::find(times, kernel.program, &KernelCodeTime::program);
    add_instructions(kernel, executions[i], time == times.end() ? nullptr : &*time, name_of);
  }
  for (AnnotatedKernel& kernel : annotation.kernels) {
    add_counted(kernel, counted);
    add_lines(kernel);
    for (const AnnotatedInstruction& instruction : kernel.instructions)
      kernel.counts += instruction.counts;
    annotation.counts += kernel.counts;
  }
  return annotation;
}

}  // namespace gpuexp
