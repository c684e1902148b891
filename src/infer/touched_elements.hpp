// Which elements of each buffer a kernel accesses, and how, found by executing it in the simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "family/step.hpp"
#include "sim/simulator.hpp"

namespace gpuexp::infer {

/// Offsets of elements, sorted, each once.
using ElementSet = std::vector<std::int64_t>;
/// Numbers of elements between two accesses, above 0, and how often each occurs.
using Distances = std::map<std::int64_t, std::int64_t>;

struct TouchedElements {
  std::int64_t lowest = 0;   ///< offset of the lowest accessed element; negative before the pointer
  std::int64_t end = 0;      ///< offset after the highest accessed element; 0: none is accessed
  std::int64_t written = 0;  ///< number of elements that are stored to
  bool is_read = false;
  bool is_written = false;
  /// Whether an element is read, or changed by an atomic operation, before it is stored to. Blocks
  /// execute one after the other.
  bool is_read_first = false;
  bool is_atomic = false;
  /// Elements that single blocks access: at most kProbedBlocks blocks, without those that access
  /// none or very many elements.
  std::vector<ElementSet> of_blocks;
  /// Between neighbouring lanes and successive instructions of these blocks, and between the lowest
  /// elements of neighbouring blocks.
  Distances distances;

  bool is_touched() const { return is_read || is_written; }
};
inline constexpr std::int64_t kProbedBlocks = 6;

/// An argument of the launch that points to a buffer of its own, much larger than any problem.
struct ProbedPointer {
  std::string name;
  DataType type = DataType::fp32;
  /// Element i of the first kFilledElements elements; all others are 0. Null: all are 0.
  std::function<std::int64_t(std::int64_t i)> contents = nullptr;
};
inline constexpr std::int64_t kFilledElements = std::int64_t{1} << 18;

/// An argument of a launch: a pointer, or a number that is added to the packed arguments.
struct ProbedArgument {
  std::optional<ProbedPointer> pointer;
  std::function<void(PackedArguments&)> add_number = nullptr;
};

struct ProbedLaunch {
  Shape shape;
  std::vector<ProbedArgument> arguments;
};

struct TouchedByLaunch {
  std::vector<TouchedElements> pointers;  ///< in the order of the arguments
  /// Whether branches or addresses depend on the contents of buffers.
  bool depends_on_contents = false;
  /// The highest block along each dimension that stores or changes an element, plus 1.
  Extent storing_blocks{0, 0, 0};
};

/// Executions that are left for one kernel.
struct ProbeBudget {
  std::uint64_t warp_instructions;  ///< 2^24 take about a second
  std::uint64_t reserve = 0;        ///< for smaller sizes, if the first ones use up the others
};

/// The budget of a kernel is used up.
class BudgetExceeded : public std::runtime_error {
 public:
  BudgetExceeded() : std::runtime_error("executing it at more sizes would take long") {}
};

/// Executes a launch block by block; values that affect no branch and no address are not computed.
/// Throws sim::Fault for accesses that are misaligned or outside of the large buffers, and for
/// launches that execute too many instructions, BudgetExceeded, and std::runtime_error if the
/// kernel cannot be executed.
TouchedByLaunch touched_elements(sim::Simulator& simulator, const ProbedLaunch& launch,
                                 ProbeBudget& budget);

}  // namespace gpuexp::infer
