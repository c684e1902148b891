#include "analysis/warp_picture.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include <fmt/format.h>

#include "base/config_error.hpp"

namespace gpuexp {

namespace {

const AnnotatedKernel* kernel_of(const Annotation& annotation,
                                 const sim::KernelExecution& execution) {
  const auto found =
      std::ranges::find(annotation.kernels, execution.program, &AnnotatedKernel::program);
  return found == annotation.kernels.end() ? nullptr : &*found;
}

// Number of times that the warp executed the line: the maximum over the line's instructions.
std::uint64_t executions_of(const AnnotatedKernel& kernel, const sim::WarpTrace& trace,
                            const SourceLine& line) {
  std::uint64_t most = 0;
  for (const AnnotatedInstruction& instruction : kernel.instructions) {
    if (instruction.at == line) most = std::max(most, trace.executions[instruction.place]);
  }
  return most;
}

struct Kind {
  std::string access;
  sim::Space space;
  friend bool operator==(const Kind&, const Kind&) = default;
};

void add_accesses(WarpPicture& picture, const AnnotatedKernel& kernel, const sim::WarpTrace& trace,
                  const BufferOf& buffer_of) {
  std::vector<Kind> kinds;
  for (const sim::TracedAccess& access : trace.accesses) {
    const AnnotatedInstruction& instruction = kernel.instructions[access.place];
    if (instruction.at != picture.line) continue;
    const Kind kind{instruction.access, access.space};
    const auto known = std::find(kinds.begin(), kinds.end(), kind);
    if (known != kinds.end()) {
      ++picture.accesses[static_cast<std::size_t>(known - kinds.begin())].alike;
      continue;
    }
    kinds.push_back(kind);
    PicturedAccess& pictured = picture.accesses.emplace_back();
    pictured.instruction = instruction;
    pictured.access = access;
    pictured.buffer = "shared";
    if (access.space == sim::Space::cluster) pictured.buffer = "shared of another block";
    if (access.space != sim::Space::global && access.space != sim::Space::local) continue;
    const auto first = static_cast<unsigned>(std::countr_zero(access.lanes));
    std::tie(pictured.buffer, pictured.buffer_begin) = buffer_of(access.address[first]);
  }
}

}  // namespace

std::vector<TracedLine> traced_lines(const Annotation& annotation,
                                     const std::vector<sim::KernelExecution>& executions) {
  std::vector<TracedLine> lines;
  for (const sim::KernelExecution& execution : executions) {
    const AnnotatedKernel* const kernel = kernel_of(annotation, execution);
    if (!execution.trace || !kernel) continue;
    for (const AnnotatedLine& line : kernel->lines) {
      if (executions_of(*kernel, *execution.trace, line.at) == 0) continue;
      const bool is_known =
          std::ranges::any_of(lines, [&](const TracedLine& l) { return l.line == line.at; });
      if (is_known) continue;
      TracedLine& traced = lines.emplace_back();
      traced.line = line.at;
      for (const LineAccess& access : line.accesses)
        traced.accesses += (traced.accesses.empty() ? "" : ", ") + access.access;
    }
  }
  return lines;
}

WarpPicture picture_of(const Annotation& annotation,
                       const std::vector<sim::KernelExecution>& executions, const AskedWarp& asked,
                       const SourceLine& line, const BufferOf& buffer_of) {
  WarpPicture picture;
  picture.asked = asked;
  picture.line = line;
  for (std::size_t i = 0; i < executions.size() && picture.executions == 0; ++i) {
    const AnnotatedKernel* const kernel = kernel_of(annotation, executions[i]);
    if (!executions[i].trace || !kernel) continue;
    picture.executions = executions_of(*kernel, *executions[i].trace, line);
    picture.kernel = kernel->name;
    const Extent grid = kernel->shapes.empty() ? Extent{} : kernel->shapes.front().grid;
    picture.block = {asked.block % grid.x, asked.block / grid.x % grid.y,
                     asked.block / (grid.x * grid.y)};
    add_accesses(picture, *kernel, *executions[i].trace, buffer_of);
  }
  if (picture.accesses.empty()) {
    throw ConfigError(
        fmt::format("--execution {}: warp {} of block {} executes {} {} times; allowed: 1 to {}",
                    asked.execution, asked.warp, asked.block, to_text(line), picture.executions,
                    picture.executions));
  }
  return picture;
}

}  // namespace gpuexp
