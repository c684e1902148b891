#include "own/launch_types.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

constexpr std::int64_t kPointerBytes = 8;

// ---- Triton

PlacedExpression placed(const std::string& text, const Place& place) {
  return {Expression::parse(text), place};
}

void add_scratch_pointers(DeclaredLaunch& launch, const KernelSignature& kernel) {
  constexpr std::size_t kMaxScratchPointers = 2;
  if (!launch.arguments) return;
  const std::size_t given = launch.arguments->size();
  const std::size_t all = kernel.parameters.size();
  if (given >= all || all - given > kMaxScratchPointers) return;
  for (std::size_t i = given; i < all; ++i) {
    if (kernel.parameters[i].untyped_bytes != kPointerBytes) return;
  }
  for (std::size_t i = given; i < all; ++i)
    launch.arguments->push_back(placed(std::string(kNullPointer), launch.place));
}

void complete(const std::string& file, DeclaredLaunch& launch, const OwnKernel& kernel) {
  const std::optional<TritonMetadata>& triton = kernel.triton;
  if (!triton && launch.block.empty())
    fail(file, launch.place,
         fmt::format("the launch of {0} has no block; expected {0}<<<GRID, BLOCK>>>",
                     launch.kernel));
  if (!triton) return;
  if (!launch.block.empty())
    fail(file, launch.block.front().place,
         fmt::format("{0} has {1} threads per block and {2} bytes of shared memory, as Triton "
                     "compiled it; leave both out: {0}<<<GRID>>>",
                     launch.kernel, triton->threads, triton->shared_bytes));
  launch.block = {placed(std::to_string(triton->threads), launch.place)};
  launch.shared_bytes = placed(std::to_string(triton->shared_bytes), launch.place);
  add_scratch_pointers(launch, kernel.signature);
}

// ---- types

class ArgumentTypes {
 public:
  ArgumentTypes(const Declaration& declaration, const DeclaredLaunch& launch)
      : declaration_(declaration), launch_(launch) {}

  void set(KernelParameter& parameter, const PlacedExpression& argument) const {
    const std::string& text = argument.expression.text();
    const DeclaredBuffer* const buffer = declaration_.find_buffer(text);
    parameter.is_pointer = buffer || text == kNullPointer;
    if (parameter.is_pointer && parameter.untyped_bytes != kPointerBytes)
      fail_at(argument, fmt::format("'{}' is a pointer, but the parameter of {} has {}; expected "
                                    "a number",
                                    text, launch_.kernel, parameter.spelled));
    if (!parameter.is_pointer) parameter.type = number_type(parameter, argument);
    if (buffer) parameter.type = declared_type(*buffer);
    parameter.spelled = parameter.type.text + (parameter.is_pointer ? "*" : "");
    parameter.untyped_bytes = 0;
  }

 private:
  [[noreturn]] void fail_at(const PlacedExpression& argument, const std::string& message) const {
    fail(declaration_.file, argument.place, message);
  }

  CType declared_type(const DeclaredBuffer& buffer) const {
    if (!buffer.type)
      fail(declaration_.file, buffer.place,
           fmt::format("the type of the elements of '{0}' is unknown, because the code of {1} has "
                       "only sizes of parameters; declare it, such as 'float {2}'",
                       buffer.name, launch_.kernel, text_of(buffer)));
    return *buffer.type;
  }

  CType number_type(const KernelParameter& parameter, const PlacedExpression& argument) const {
    const DeclaredParameter* const declared = parameter_named(argument.expression.text());
    if (declared && declared->type) {
      if (size_of_number(*declared->type) != parameter.untyped_bytes)
        fail_at(argument,
                fmt::format("{} is declared as {}, but the parameter of {} has {}", declared->name,
                            declared->type->text, launch_.kernel, parameter.spelled));
      return *declared->type;
    }
    const bool is_real = has_real(argument.expression.root());
    const char* const name =
        is_real ? name_of_real(parameter.untyped_bytes) : name_of_integer(parameter.untyped_bytes);
    if (!name)
      fail_at(
          argument,
          fmt::format("the parameter of {} has {}; expected {}", launch_.kernel, parameter.spelled,
                      is_real ? "4 bytes for a float or 8 for a double"
                              : "1, 2, 4 or 8 bytes: other parameters are not supported"));
    return type_named(name);
  }

  static const char* name_of_integer(std::int64_t bytes) {
    switch (bytes) {
      case 1: return "signed char";
      case 2: return "short";
      case 4: return "int";
      case 8: return "long";
      default: return nullptr;
    }
  }
  static const char* name_of_real(std::int64_t bytes) {
    switch (bytes) {
      case 4: return "float";
      case 8: return "double";
      default: return nullptr;
    }
  }

  const DeclaredParameter* parameter_named(const std::string& name) const {
    const auto found = std::ranges::find(declaration_.parameters, name, &DeclaredParameter::name);
    return found == declaration_.parameters.end() ? nullptr : &*found;
  }

  // Whether the value is a real number: the expression has a literal such as 0.5, a function such
  // as sqrt(), or a parameter with real values.
  bool has_real(const Node& node) const {
    if (computes_with_reals(node)) return true;
    const DeclaredParameter* const declared =
        node.kind == NodeKind::name ? parameter_named(node.name) : nullptr;
    if (declared && std::holds_alternative<double>(declared->values.front())) return true;
    return std::ranges::any_of(node.operands,
                               [&](const NodePointer& operand) { return has_real(*operand); });
  }

  const Declaration& declaration_;
  const DeclaredLaunch& launch_;
};

/// Without effect if the launch has another number of arguments, which is an error elsewhere.
void set_types(const Declaration& declaration, const DeclaredLaunch& launch,
               std::vector<KernelParameter>& parameters) {
  if (!launch.arguments || launch.arguments->size() != parameters.size()) return;
  const ArgumentTypes types(declaration, launch);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].untyped_bytes > 0) types.set(parameters[i], (*launch.arguments)[i]);
  }
}

}  // namespace

void complete_launches(Declaration& declaration, const std::vector<OwnKernel>& kernels) {
  for (DeclaredVariant& variant : declaration.variants) {
    for (DeclaredStep& step : variant.steps) {
      auto* const launch = std::get_if<DeclaredLaunch>(&step);
      for (const OwnKernel& kernel : kernels) {
        if (launch && kernel.signature.name == launch->kernel)
          complete(declaration.file, *launch, kernel);
      }
    }
  }
}

std::vector<OwnKernel> with_argument_types(const Declaration& declaration,
                                           std::vector<OwnKernel> kernels) {
  for (const DeclaredVariant& variant : declaration.variants) {
    for (const DeclaredStep& step : variant.steps) {
      const auto* const launch = std::get_if<DeclaredLaunch>(&step);
      for (OwnKernel& kernel : kernels) {
        if (launch && kernel.signature.name == launch->kernel)
          set_types(declaration, *launch, kernel.signature.parameters);
      }
    }
  }
  return kernels;
}

}  // namespace gpuexp::own
