// What one warp does to memory at one source line: what a picture of it is drawn from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/annotation.hpp"

namespace gpuexp {

/// Block and warp, and which execution of a line's instructions: what --warp asks for.
struct AskedWarp {
  std::int64_t block = 0;
  unsigned warp = 0;
  std::uint64_t execution = 1;  ///< the first is 1
};

/// One instruction's access, as one warp made it.
struct PicturedAccess {
  AnnotatedInstruction instruction;
  std::string buffer;  ///< "shared" of shared memory
  std::uint64_t buffer_begin = 0;
  sim::TracedAccess access;
  std::size_t alike = 0;  ///< more instructions of the line that do the same to the same buffer
};

/// What one warp does to memory at one source line.
struct WarpPicture {
  AskedWarp asked;
  Extent block;  ///< its place in the grid
  std::string kernel;
  SourceLine line;
  std::uint64_t executions = 0;          ///< of the line by this warp: of the instruction with most
  std::vector<PicturedAccess> accesses;  ///< the first of each kind, in order
};

/// Name and first address of the buffer that has an address.
using BufferOf = std::function<std::pair<std::string, std::uint64_t>(std::uint64_t address)>;

struct TracedLine {
  SourceLine line;
  std::string accesses;  ///< "load of a, load of b"
};

/// The lines at which the traced warp reaches memory, of all kernels that have it.
std::vector<TracedLine> traced_lines(const Annotation& annotation,
                                     const std::vector<sim::KernelExecution>& executions);

/// What it does at one of them. Throws ConfigError where it never comes to that execution.
WarpPicture picture_of(const Annotation& annotation,
                       const std::vector<sim::KernelExecution>& executions, const AskedWarp& asked,
                       const SourceLine& line, const BufferOf& buffer_of);

}  // namespace gpuexp
