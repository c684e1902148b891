// What a launch executed, by instruction and by source line, and where it was executed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mode.hpp"
#include "base/types.hpp"
#include "device/device_spec.hpp"
#include "family/family.hpp"
#include "family/source_counts.hpp"
#include "model/code_time.hpp"
#include "model/prediction.hpp"
#include "sim/simulator.hpp"
#include "timing/warp_state.hpp"

namespace gpuexp {

struct SourceLine {
  std::string file;  ///< empty: not known
  std::uint32_t line = 0;
  friend auto operator<=>(const SourceLine&, const SourceLine&) = default;
};

/// "kernels/matmul.cu:88"; "(no line)" where it is not known.
std::string to_text(const SourceLine& line);

/// Sums over all blocks that were executed.
struct ExecutedCounts {
  double warps = 0;             ///< instructions of warps
  double lanes = 0;             ///< their active lanes
  double predicated_lanes = 0;  ///< of these, those that the instruction's guard let through
  double load_requests = 0;
  double load_sectors = 0;
  double ideal_load_sectors = 0;
  double store_requests = 0;
  double store_sectors = 0;
  double ideal_store_sectors = 0;
  double shared_requests = 0;    ///< loads, stores, and what cp.async writes
  double shared_wavefronts = 0;  ///< of these; those that cp.async takes to write among them
  double ideal_shared_wavefronts = 0;
  double data_wavefronts = 0;  ///< of the data stage of L1 and shared memory
  double tag_wavefronts = 0;   ///< of L1's tag stage
  WarpClocks time_us;          ///< the part of the predicted time, by what warps did in it
  SectorLookups l1;            ///< of the blocks that the time was predicted from
  SourceCounts gpu;            ///< what a GPU counted, of all blocks; 0 where none did

  ExecutedCounts& operator+=(const ExecutedCounts& more);
  double requests() const { return load_requests + store_requests; }
  double sectors() const { return load_sectors + store_sectors; }
  double ideal_sectors() const { return ideal_load_sectors + ideal_store_sectors; }
};

/// The members that are sums of whole numbers, by their names in JSON.
struct NamedCount {
  const char* name;
  double ExecutedCounts::*member;
};
inline constexpr NamedCount kExecutedCounts[] = {
    {"warp_instructions", &ExecutedCounts::warps},
    {"active_lanes", &ExecutedCounts::lanes},
    {"predicated_on_lanes", &ExecutedCounts::predicated_lanes},
    {"global_load_requests", &ExecutedCounts::load_requests},
    {"global_load_sectors", &ExecutedCounts::load_sectors},
    {"ideal_global_load_sectors", &ExecutedCounts::ideal_load_sectors},
    {"global_store_requests", &ExecutedCounts::store_requests},
    {"global_store_sectors", &ExecutedCounts::store_sectors},
    {"ideal_global_store_sectors", &ExecutedCounts::ideal_store_sectors},
    {"shared_requests", &ExecutedCounts::shared_requests},
    {"shared_wavefronts", &ExecutedCounts::shared_wavefronts},
    {"ideal_shared_wavefronts", &ExecutedCounts::ideal_shared_wavefronts},
    {"l1_data_wavefronts", &ExecutedCounts::data_wavefronts},
    {"l1_tag_wavefronts", &ExecutedCounts::tag_wavefronts}};

struct AnnotatedInstruction {
  std::uint32_t place = 0;    ///< in the kernel's program
  std::uint32_t address = 0;  ///< bytes from the kernel's first instruction
  std::string text;           ///< as nvdisasm lists it
  SourceLine at;
  SourceLine from;     ///< of inlined code: the kernel's line that it was reached from
  std::string access;  ///< "load of a"; empty: none
  ExecutedCounts counts;
};

/// What a line does to one buffer.
struct LineAccess {
  std::string access;  ///< as in AnnotatedInstruction
  ExecutedCounts counts;
};

struct AnnotatedLine {
  SourceLine at;
  std::vector<SourceLine> from;      ///< without repetitions, in order
  std::vector<LineAccess> accesses;  ///< in the order of the instructions
  ExecutedCounts counts;
};

/// One kernel, as often as the launch has it.
struct AnnotatedKernel {
  const sim::Program* program = nullptr;
  std::string name;
  std::vector<Shape> shapes;  ///< of each time
  std::vector<AnnotatedInstruction> instructions;
  std::vector<AnnotatedLine>
      lines;  ///< that were executed, by file, the kernel's own first, and line
  ExecutedCounts counts;
};

struct Annotation {
  std::vector<AnnotatedKernel> kernels;
  ExecutedCounts counts;
};

/// The name of the buffer that has the address.
using BufferName = std::function<std::string(std::uint64_t address)>;

/// Of the launch's kernels in order, observed place by place, and their shapes; `times` are those
/// of its kernels, each once, or none; `counted` is what a GPU counted of them, or nothing.
Annotation annotate(const std::vector<sim::KernelExecution>& executions,
                    const std::vector<Shape>& shapes, const std::vector<KernelCodeTime>& times,
                    const std::vector<CountedInstruction>& counted, const BufferName& name_of);

/// "load of a", "store to shared", "cp.async from b": what the instruction did to memory.
std::string access_text(const sim::PlaceCounts& counts, const BufferName& name_of);

struct AnnotatedLaunch {
  const Family* family = nullptr;
  const Variant* variant = nullptr;
  Values values;
  DeviceSpec device;
  Mode mode = Mode::cold;
  CodeTime code_time;
  Annotation annotation;
  std::int64_t blocks = 0;           ///< of all kernels
  std::int64_t blocks_executed = 0;  ///< those that the counts are of
  std::string counted_on;            ///< the GPU that counted all blocks; empty: none
  std::string why_not_counted;       ///< where one was asked to
};

}  // namespace gpuexp
