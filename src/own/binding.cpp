#include "own/binding.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "compile/compile_options.hpp"
#include "own/array_files.hpp"
#include "own/buffer_roles.hpp"
#include "own/declared_names.hpp"
#include "own/expression_tree.hpp"
#include "own/kernel_lookup.hpp"
#include "own/launch_types.hpp"
#include "own/variable_binding.hpp"

namespace gpuexp::own {

namespace {

class Binder {
 public:
  Binder(Declaration declaration, std::vector<OwnKernel> kernels,
         const std::vector<std::string>& in_source, const std::vector<OwnVariable>& variables)
      : declaration_(std::move(declaration)),
        kernels_(std::move(kernels)),
        variables_(variables),
        lookup_(declaration_.file, kernels_, in_source),
        bound_(std::make_shared<Bound>()) {}

  SharedBound bound() {
    if (!std::ranges::all_of(kernels_, &OwnKernel::has_code))
      remove_unknown_buffers(declaration_, lookup_, variables_);
    complete_launches(declaration_, kernels_);
    kernels_ = with_argument_types(declaration_, std::move(kernels_));
    bound_->file = declaration_.file;
    bound_->parameters = declaration_.parameters;
    bound_->checks = declaration_.checks;
    bound_->expected_files = declaration_.expected_files;
    bound_->arrays = std::make_shared<ArrayFiles>(
        std::filesystem::path(declaration_.file).parent_path(), declaration_.file);
    bound_->requirements = declaration_.requirements;
    bound_->work = declaration_.work;
    bound_->tolerance = declaration_.tolerance;
    bound_->flushes_subnormals = parsed_options(declaration_.options).fast_math;
    if (declaration_.variants.empty())
      fail_at({1, 1},
              "the file declares no launch; expected a statement such as '// gpuexp: "
              "kernel<<<ceil_div(n, 256), 256>>>'");
    check_names(declaration_);
    for (const DeclaredBuffer& buffer : declaration_.buffers)
      bound_->buffers.push_back({buffer, BufferRole::input, DataType::fp32});
    for (const DeclaredVariant& variant : declaration_.variants)
      bound_->variants.push_back(bind(variant));
    const std::optional<DeclaredReference>& reference = declaration_.reference;
    if (reference && !reference->is_first) bound_->reference = bind(reference->launch);
    bind_variables(*bound_, variables_);
    set_roles(*bound_);
    if (reference && reference->is_first) refer_to_first(*reference);
    check_work();
    for (const DeclaredCheck& check : bound_->checks)
      check_check(check);
    if (bound_->has_code()) check_parameters_are_used();
    find_fp32_parameters();
    return bound_;
  }

 private:
  [[noreturn]] void fail_at(const Place& place, const std::string& message) const {
    fail(declaration_.file, place, message);
  }

  // ---- launches

  void refer_to_first(const DeclaredReference& declared) const {
    bound_->reference = bound_->variants.front();
    bound_->reference->place = declared.place;
    bound_->reference_is_first = true;
  }

  BoundVariant bind(const DeclaredVariant& declared) {
    BoundVariant variant{declared.id, declared.compare_to, {}, declared.place, declared.why, {}};
    const bool is_known = lookup_.has_code(declared);
    for (const DeclaredStep& step : declared.steps) {
      const auto* const launch = std::get_if<DeclaredLaunch>(&step);
      if (is_known)
        variant.steps.push_back(
            std::visit([&](const auto& of) -> BoundStep { return bind(of); }, step));
      else if (launch)
        variant.steps.emplace_back(BoundLaunch{*launch, lookup_.of(*launch).address, {}, false});
    }
    return variant;
  }

  BoundMemset bind(const DeclaredMemset& memset) const {
    const auto index = bound_->buffer_named(memset.buffer);
    if (index) return {memset, *index};
    fail_at(memset.place, fmt::format("memset needs a buffer, found '{}'{}", shorten(memset.buffer),
                                      allowed_buffers(memset.buffer)));
  }

  BoundLaunch bind(const DeclaredLaunch& launch) {
    const OwnKernel& kernel = lookup_.of(launch);
    check_is_supported(launch, kernel);
    const std::vector<KernelParameter>& parameters = kernel.signature.parameters;
    if (launch.arguments && launch.arguments->size() != parameters.size())
      fail_at(launch.place,
              fmt::format("{} has {} parameters, but the launch has {} arguments",
                          text_of(kernel.signature), parameters.size(), launch.arguments->size()));
    BoundLaunch bound{launch, kernel.address, {}};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!launch.arguments && parameters[i].name.empty())
        fail_at(launch.place,
                fmt::format("parameter {} of {} has no name; write the arguments out: "
                            "{}<<<GRID, BLOCK>>>(…)",
                            i + 1, text_of(kernel.signature), launch.kernel));
      const PlacedExpression argument =
          launch.arguments
              ? (*launch.arguments)[i]
              : PlacedExpression{named(parameters[i].name, launch.place), launch.place};
      bound.arguments.push_back(parameters[i].is_pointer
                                    ? buffer_argument(launch, parameters[i], argument)
                                    : number_argument(launch, parameters[i], argument));
    }
    return bound;
  }

  void check_is_supported(const DeclaredLaunch& launch, const OwnKernel& kernel) const {
    if (kernel.launches_kernels)
      fail_at(launch.place, fmt::format("{} launches kernels, which is not supported; declare the "
                                        "launches of these kernels as steps: {}<<<…>>>; …",
                                        launch.kernel, launch.kernel));
    if (kernel.has_clusters)
      fail_at(launch.place,
              fmt::format("{} has clusters of blocks (__cluster_dims__), which are not supported; "
                          "expected a kernel without",
                          launch.kernel));
  }

  Expression named(const std::string& name, const Place& place) const {
    try {
      return Expression::parse(name);
    } catch (const ExpressionError&) {
      fail_at(place,
              fmt::format("parameter '{}' has a name that a declaration cannot use; write the "
                          "arguments out in parentheses after >>>",
                          shorten(name)));
    }
  }

  static std::string text_of_parameter(const KernelParameter& parameter,
                                       const DeclaredLaunch& launch) {
    return fmt::format("parameter '{}' of {}", parameter.spelled, launch.kernel);
  }

  std::string allowed_buffers(const std::string& found) const {
    std::vector<std::string> buffers;
    for (const BoundBuffer& buffer : bound_->buffers)
      buffers.push_back(buffer.declared.name);
    return buffers.empty() ? "" : allowed_names(found, buffers);
  }

  BoundArgument buffer_argument(const DeclaredLaunch& launch, const KernelParameter& parameter,
                                const PlacedExpression& argument) {
    const std::string& text = argument.expression.text();
    const auto index = bound_->buffer_named(text);
    if (!index && text == kNullPointer) return {std::nullopt, std::nullopt, parameter};
    if (!index) {
      const bool is_name = argument.expression.root().kind == NodeKind::name;
      fail_at(argument.place,
              fmt::format("{} needs a buffer, found '{}'{}{}", text_of_parameter(parameter, launch),
                          shorten(text),
                          is_name ? fmt::format("; declare it, such as in {}[n]", shorten(text))
                                  : "; expected the name of a buffer",
                          allowed_buffers(text)));
    }
    const std::optional<CType>& declared = bound_->buffers[*index].declared.type;
    auto type = element_type(parameter.type);
    if (!type && declared) type = element_type(*declared);
    if (!type)
      fail_at(argument.place, fmt::format("'{}' has elements of type {}, because of {}; {}", text,
                                          parameter.type.text, text_of_parameter(parameter, launch),
                                          instead_of(parameter.type, bound_->buffers[*index])));
    if (declared && element_type(*declared) != type)
      fail_at(argument.place,
              fmt::format("'{}' is declared with elements of type {}, but {} has "
                          "elements of type {}",
                          text, declared->text, text_of_parameter(parameter, launch),
                          parameter.type.text));
    set_type(*index, *type, argument.place);
    return {index, std::nullopt, parameter};
  }

  /// How to declare a buffer whose elements cannot have the type.
  static std::string instead_of(const CType& type, const BoundBuffer& buffer) {
    if (type.text.ends_with('*')) return "pointers to pointers are not supported";
    const std::string buffers_have = "buffers have elements of type " + element_types_text();
    const CType number = lane_type(type);
    if (number.element == CElement::unknown)
      return fmt::format(
          "{}: if it consists of N numbers of one of these types, declare them, as "
          "in 'float {}'",
          buffers_have, with_more_elements(buffer.declared, "N"));
    return fmt::format("declare '{} {}' instead; {}", number.text,
                       with_more_elements(buffer.declared, std::to_string(type.lanes)),
                       buffers_have);
  }

  void set_type(std::size_t index, DataType type, const Place& place) {
    BoundBuffer& buffer = bound_->buffers[index];
    if (!typed_.insert(index).second && buffer.type != type)
      fail_at(place, fmt::format("{} has elements of type {} in this launch and {} in a launch "
                                 "above; expected one type",
                                 buffer.declared.name, name_of(type), name_of(buffer.type)));
    buffer.type = type;
  }

  BoundArgument number_argument(const DeclaredLaunch& launch, const KernelParameter& parameter,
                                const PlacedExpression& argument) const {
    for (const char* object : {"cudaTextureObject_t", "cudaSurfaceObject_t"}) {
      if (parameter.spelled.find(object) == std::string::npos) continue;
      fail_at(argument.place,
              fmt::format("{} is a texture or surface, which is not supported; pass "
                          "a pointer",
                          text_of_parameter(parameter, launch)));
    }
    if (!is_number(parameter.type))
      fail_at(argument.place,
              fmt::format("{} has a type that is not supported; expected a pointer, an integer, "
                          "bool, float or double",
                          text_of_parameter(parameter, launch)));
    if (!launch.arguments) require_parameter(launch, parameter);
    check_names(declaration_, argument);
    return {std::nullopt, argument, parameter};
  }

  void require_parameter(const DeclaredLaunch& launch, const KernelParameter& parameter) const {
    const auto& parameters = declaration_.parameters;
    if (std::ranges::find(parameters, parameter.name, &DeclaredParameter::name) != parameters.end())
      return;
    std::vector<std::string> known;
    for (const DeclaredParameter& declared : parameters)
      known.push_back(declared.name);
    fail_at(launch.place,
            declaration_.find_buffer(parameter.name)
                ? fmt::format("{} needs a number, but '{}' is declared as a buffer",
                              text_of_parameter(parameter, launch), parameter.name)
                : fmt::format("{0} has no value; declare it, such as in {1} = 1024, or write the "
                              "arguments out: {2}<<<GRID, BLOCK>>>(…){3}",
                              text_of_parameter(parameter, launch), parameter.name, launch.kernel,
                              known.empty() ? "" : allowed_names(parameter.name, known)));
  }

  // ---- checks

  void check_check(const DeclaredCheck& declared) const {
    const std::string& output = declared.check.output();
    check_is_output(*bound_, output, declared.place);
    check_reads(declared, declared.check.expression().root());
  }

  void check_reads(const DeclaredCheck& declared, const Node& node) const {
    const bool reads = node.kind == NodeKind::index || node.kind == NodeKind::name;
    const auto index = reads ? bound_->buffer_named(node.name) : std::nullopt;
    if (index && node.name == declared.check.output())
      fail_at(after(declared.place, node.column),
              fmt::format("'{0}' is the output; before({0}[...]) is its value before the launch{1}",
                          node.name,
                          bound_->buffers[*index].role == BufferRole::in_out
                              ? ""
                              : fmt::format(", if it is declared as 'in_out {}'",
                                            own::text_of(bound_->buffers[*index].declared))));
    if (index && bound_->buffers[*index].role == BufferRole::workspace)
      fail_at(after(declared.place, node.column),
              fmt::format("'{}' is a workspace, without contents before the launch; a check can "
                          "read inputs",
                          node.name));
    if (index && is_output(bound_->buffers[*index].role))
      fail_at(after(declared.place, node.column),
              fmt::format("'{0}' is an output; a check can read inputs, and in_out buffers before "
                          "the launch, as before({0}[...]): write the expression of {0} instead",
                          node.name));
    for (const NodePointer& operand : node.operands)
      check_reads(declared, *operand);
  }

  void check_work() const {
    std::vector<std::string> variants;
    for (const BoundVariant& variant : bound_->variants)
      variants.push_back(variant.id);
    for (const DeclaredWork& work : bound_->work) {
      if (work.variant.empty() || std::ranges::find(variants, work.variant) != variants.end())
        continue;
      fail_at(work.place, fmt::format("'{}' is not a variant{}", shorten(work.variant),
                                      allowed_names(work.variant, variants)));
    }
  }

  template <class Function>
  void for_arguments(const Function& function) const {
    for (const BoundVariant& variant : bound_->variants)
      for (const BoundLaunch* launch : variant.launches())
        std::ranges::for_each(launch->arguments, function);
  }

  void check_parameters_are_used() const {
    std::set<std::string> used;
    for (const PlacedExpression* expression : expressions_of(declaration_))
      used.merge(expression->expression.names());
    for_arguments([&](const BoundArgument& argument) {
      if (argument.number) used.merge(argument.number->expression.names());
    });
    if (bound_->reference) {
      for (const BoundLaunch* launch : bound_->reference->launches())
        for (const BoundArgument& argument : launch->arguments)
          if (argument.number) used.merge(argument.number->expression.names());
    }
    for (const DeclaredCheck& check : bound_->checks)
      used.merge(check.check.names());
    for (const DeclaredParameter& parameter : declaration_.parameters)
      if (!parameter.is_macro && !used.contains(parameter.name))
        fail_at(parameter.place,
                fmt::format(
                    "no launch, extent, check or work uses the parameter '{}'; remove it{}",
                    parameter.name,
                    parameter.name == "tolerance" ? ", or write 'tolerance 1e-3' without =" : ""));
  }

  void find_fp32_parameters() const {
    std::set<std::string> others;
    for_arguments([&](const BoundArgument& argument) {
      if (!argument.number) return;
      const Expression& number = argument.number->expression;
      const bool is_float =
          number.root().kind == NodeKind::name && argument.parameter.type.element == CElement::fp32;
      if (is_float)
        bound_->fp32_parameters.insert(number.text());
      else
        others.merge(number.names());
    });
    for (const std::string& other : others)
      bound_->fp32_parameters.erase(other);
  }

  Declaration declaration_;
  std::vector<OwnKernel> kernels_;
  const std::vector<OwnVariable>& variables_;
  KernelLookup lookup_;
  std::shared_ptr<Bound> bound_;
  std::set<std::size_t> typed_;  // buffers whose type an argument above has set
};

}  // namespace

SharedBound bound_to(Declaration declaration, std::vector<OwnKernel> kernels,
                     const std::vector<std::string>& in_source,
                     const std::vector<OwnVariable>& variables) {
  return Binder(std::move(declaration), std::move(kernels), in_source, variables).bound();
}

}  // namespace gpuexp::own
