#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/annotation.hpp"

namespace gpuexp {

/// Block, warp and execution of a line that --warp and --execution request.
struct AskedWarp {
  std::int64_t block = 0;
  unsigned warp = 0;
  std::uint64_t execution = 1;  ///< counted from 1
};

struct PicturedAccess {
  AnnotatedInstruction instruction;
  std::string buffer;  ///< name of the buffer; "shared" or "shared of another block"
  std::uint64_t buffer_begin = 0;
  sim::TracedAccess access;
  /// Number of further accesses of the line with the same text and memory space.
  std::size_t alike = 0;
};

struct WarpPicture {
  AskedWarp asked;
  Extent block;  ///< block index in the grid
  std::string kernel;
  SourceLine line;
  std::uint64_t executions = 0;  ///< by this warp: maximum over the line's instructions
  /// The first access with each text and memory space, in order.
  std::vector<PicturedAccess> accesses;
};

using BufferOf = std::function<std::pair<std::string, std::uint64_t>(std::uint64_t address)>;

struct TracedLine {
  SourceLine line;
  std::string accesses;  ///< "load of a, load of b"
};

/// The traced warp's lines with memory accesses, over all kernels.
std::vector<TracedLine> traced_lines(const Annotation& annotation,
                                     const std::vector<sim::KernelExecution>& executions);

/// The traced warp's accesses at one line. Throws ConfigError if the warp did not execute the line
/// that often.
WarpPicture picture_of(const Annotation& annotation,
                       const std::vector<sim::KernelExecution>& executions, const AskedWarp& asked,
                       const SourceLine& line, const BufferOf& buffer_of);

}  // namespace gpuexp
