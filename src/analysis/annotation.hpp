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
  std::string file;  ///< empty: unknown
  std::uint32_t line = 0;
  friend auto operator<=>(const SourceLine&, const SourceLine&) = default;
};

/// "kernels/matmul.cu:88"; "(no line)" if unknown.
std::string to_text(const SourceLine& line);

/// Sums over all blocks; estimates if only a sample of them was executed.
struct ExecutedCounts {
  double warps = 0;             ///< warp instructions
  double lanes = 0;             ///< active lanes of the warp instructions
  double predicated_lanes = 0;  ///< active lanes that are not predicated off
  double load_requests = 0;
  double load_sectors = 0;
  double ideal_load_sectors = 0;
  double store_requests = 0;
  double store_sectors = 0;
  double ideal_store_sectors = 0;
  double shared_requests = 0;    ///< loads, stores and writes of cp.async, without atomics
  double shared_wavefronts = 0;  ///< wavefronts of shared_requests
  double ideal_shared_wavefronts = 0;
  double data_wavefronts = 0;  ///< L1 data-stage wavefronts
  double tag_wavefronts = 0;   ///< L1 tag-stage wavefronts
  WarpClocks time_us;          ///< predicted time in µs, by warp state
  SectorLookups l1;            ///< L1 lookups of the blocks that the prediction executed
  SourceCounts gpu;            ///< hardware counts of all blocks; 0 if none

  ExecutedCounts& operator+=(const ExecutedCounts& more);
  double requests() const { return load_requests + store_requests; }
  double sectors() const { return load_sectors + store_sectors; }
  double ideal_sectors() const { return ideal_load_sectors + ideal_store_sectors; }
};

/// A count of ExecutedCounts, with its name in JSON.
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
  std::uint32_t place = 0;    ///< index in the kernel's program
  std::uint32_t address = 0;  ///< bytes from the kernel's first instruction
  std::string text;           ///< guard, opcode and operands, as nvdisasm prints them
  SourceLine at;
  SourceLine from;     ///< for inlined code, the kernel's line at which it was inlined
  std::string access;  ///< memory access: "load of a"; empty: none
  ExecutedCounts counts;
};

struct LineAccess {
  std::string access;  ///< AnnotatedInstruction::access
  ExecutedCounts counts;
};

struct AnnotatedLine {
  SourceLine at;
  std::vector<SourceLine> from;      ///< AnnotatedInstruction::from of its instructions, each once
  std::vector<LineAccess> accesses;  ///< one per kind of access, in the order of the instructions
  ExecutedCounts counts;
};

struct AnnotatedKernel {
  const sim::Program* program = nullptr;
  std::string name;
  std::vector<Shape> shapes;  ///< launch shape of each execution
  std::vector<AnnotatedInstruction> instructions;
  /// Executed lines, sorted by file and line, but with the kernel's own file first.
  std::vector<AnnotatedLine> lines;
  ExecutedCounts counts;
};

struct Annotation {
  std::vector<AnnotatedKernel> kernels;
  ExecutedCounts counts;
};

using BufferName = std::function<std::string(std::uint64_t address)>;

/// Annotates the distinct kernels of a launch, in the order of their first execution. `executions`
/// must have counts per instruction. `times` is empty or has one element per distinct kernel;
/// `counted` is empty or has hardware counts.
Annotation annotate(const std::vector<sim::KernelExecution>& executions,
                    const std::vector<Shape>& shapes, const std::vector<KernelCodeTime>& times,
                    const std::vector<CountedInstruction>& counted, const BufferName& name_of);

/// The instruction's memory accesses as text: "load of a", "store to shared", "cp.async from b".
std::string access_text(const sim::PlaceCounts& counts, const BufferName& name_of);

struct AnnotatedLaunch {
  const Family* family = nullptr;
  const Variant* variant = nullptr;
  Values values;
  DeviceSpec device;
  Mode mode = Mode::cold;
  CodeTime code_time;
  Annotation annotation;
  std::int64_t blocks = 0;           ///< number of blocks of all kernels
  std::int64_t blocks_executed = 0;  ///< number of blocks from which the counts are estimated
  std::string counted_on;            ///< GPU of the hardware counts; empty: none
  std::string why_not_counted;       ///< reason, if hardware counts were requested but not read
};

}  // namespace gpuexp
