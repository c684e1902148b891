#include "own/check_errors.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "own/array_files.hpp"
#include "own/check_evaluation.hpp"
#include "own/expression_tree.hpp"
#include "own/output_checks.hpp"

namespace gpuexp::own {

namespace {

/// Contents of a buffer: the elements of a file, or those of the fill if there is none.
struct Contents {
  FillProgram fill;
  std::shared_ptr<const NpyArray> file;
};

/// Computes elements instead of reading them: BufferView::data points to the buffer's Contents.
struct ComputedElements {
  double operator()(const BufferView& buffer, std::int64_t element) const {
    const auto& [fill, file] = *static_cast<const Contents*>(buffer.data);
    if (file) return stored_element(file->bytes.data(), buffer.type, element);
    std::array<unsigned char, sizeof(double)> stored{};
    store_element(stored.data(), fill.type, 0, fill_value(fill, element));
    return stored_element(stored.data(), fill.type, 0);
  }
};

const Node* first_division(const Node& node) {
  if (node.kind == NodeKind::divide) return &node;
  for (const NodePointer& operand : node.operands) {
    if (const Node* const found = first_division(*operand)) return found;
  }
  return nullptr;
}

std::string index_text(const Node& node, const CheckFault& fault) {
  return node.operands.size() == 1 ? fmt::format("index {} of {}", fault.number, node.name)
                                   : fmt::format("index {} of dimension {} of {}", fault.number,
                                                 fault.dimension + 1, node.name);
}

std::string fraction_text(const Node* division, const CheckFault& fault, DataType type) {
  return fmt::format(
      "is {}, but elements of type {} are whole numbers; {}", fault.number, name_of(type),
      division ? "in a check, / divides real numbers: write trunc(a / b), which rounds as C does, "
                 "or floor_div(a, b)"
               : "write rint(…), trunc(…), floor(…) or ceil(…)");
}

constexpr const char* kExactIntegers =
    "checks compute in fp64, which represents each whole number only below 2^53";

/// What is wrong with the element. `extent` is that of the index.
std::string fault_text(const Node& node, const CheckFault& fault, std::int64_t extent,
                       DataType type, const Node* division) {
  switch (fault.kind) {
    case CheckFaultKind::index_out_of_range:
      return fmt::format("reads {}, which is out of range; expected 0 to {}",
                         index_text(node, fault), extent - 1);
    case CheckFaultKind::fractional_index:
      return fmt::format("reads {}; expected a whole number", index_text(node, fault));
    case CheckFaultKind::nan_condition: return "has a condition that is NaN";
    case CheckFaultKind::too_many_terms:
      return fmt::format("has a sum of {} terms; expected fewer than 2^36", fault.number);
    case CheckFaultKind::inexact_element:
      return fmt::format("reads the element {:.17g} of {}; {}", fault.number, node.name,
                         kExactIntegers);
    case CheckFaultKind::inexact_integer:
      return fmt::format("has the result {:.17g}; {}", fault.number, kExactIntegers);
    case CheckFaultKind::fractional_value: return fraction_text(division, fault, type);
    case CheckFaultKind::nan_value:
      return "is NaN, which no result equals; declare other contents of its inputs";
    case CheckFaultKind::none: break;
  }
  return "";
}

}  // namespace

std::string element_name(const std::string& buffer, const std::vector<std::int64_t>& extents,
                         std::int64_t element) {
  std::string indices;
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    indices = fmt::format("[{}]{}", element % *extent, indices);
    element /= *extent;
  }
  return buffer + indices;
}

std::string check_error(const Bound& bound, const OwnProblem& problem, std::uint64_t seed,
                        std::size_t output, std::int64_t element) {
  std::vector<Contents> contents(bound.buffers.size());
  OwnData data{std::vector<void*>(bound.buffers.size(), nullptr)};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const BufferRole role = bound.buffers[i].role;
    const std::optional<DeclaredArray>& array = bound.buffers[i].declared.array;
    if (array) contents[i].file = bound.arrays->elements(*array);
    if (role != BufferRole::output)
      contents[i].fill = fill_of(bound, i, problem, role == BufferRole::in_out ? kInOutSeed : seed);
    data.buffers[i] = &contents[i];
  }
  const CompiledCheck compiled = compiled_check(bound, output, problem, data);
  CheckFault fault;
  evaluate_with(compiled.program, element, ComputedElements{}, fault);
  if (fault.kind == CheckFaultKind::none) return "";
  const DeclaredCheck& declared = *bound.check_of(output);
  const Node& node = *compiled.nodes.at(static_cast<std::size_t>(fault.instruction));
  const Node* const division = fault.kind == CheckFaultKind::fractional_value
                                   ? first_division(declared.check.expression().root())
                                   : nullptr;
  const auto buffer = bound.buffer_named(node.name);
  const auto dimension = static_cast<std::size_t>(fault.dimension);
  const std::int64_t extent = buffer ? problem.extents[*buffer].at(dimension) : 0;
  const Place place = after(declared.place, (division ? *division : node).column);
  return fmt::format("{}:{}:{}: the check of {} {}", bound.file, place.line, place.column,
                     element_name(declared.check.output(), problem.extents[output], element),
                     fault_text(node, fault, extent, bound.buffers[output].type, division));
}

}  // namespace gpuexp::own
