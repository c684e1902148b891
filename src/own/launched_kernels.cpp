#include "own/launched_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "own/declared_names.hpp"

namespace gpuexp::own {

namespace {

/// How the file is compiled for a launch, or for all launches without template arguments.
class LaunchSource {
 public:
  LaunchSource(const Declaration& declaration, std::string_view source,
               const DeclaredLaunch* launch)
      : file_(declaration.file), parameters_(declaration.parameters) {
    if (!launch) return;
    const auto kernel = kernel_in(source, launch->kernel);
    launch_ = *launch;
    qualified_name_ = kernel ? kernel->qualified_name : launch->kernel;
  }

  Compilation at(const Names& names) const {
    Compilation compilation;
    for (const DeclaredParameter& parameter : parameters_) {
      if (parameter.is_macro)
        compilation.macros.push_back(
            fmt::format("{}={}", parameter.name, to_string(names.find(parameter.name)->second)));
    }
    if (launch_)
      compilation.instantiation = {qualified_name_, template_arguments(names),
                                   static_cast<std::size_t>(launch_->place.line)};
    return compilation;
  }

  /// Names of the parameters that the compilation depends on.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const DeclaredParameter& parameter : parameters_)
      if (parameter.is_macro) names.insert(parameter.name);
    if (!launch_) return names;
    for (const DeclaredTemplateArgument& argument : *launch_->template_arguments)
      if (const auto* const number = argument.number(parameters_))
        names.merge(number->expression.names());
    return names;
  }

 private:
  std::string template_arguments(const Names& names) const {
    std::vector<std::string> arguments;
    for (const DeclaredTemplateArgument& argument : *launch_->template_arguments) {
      const PlacedExpression* const number = argument.number(parameters_);
      arguments.push_back(
          number ? std::to_string(at_place(file_, number->place,
                                           [&] { return number->expression.integer(names); }))
                 : argument.text);
    }
    return fmt::format("{}", fmt::join(arguments, ", "));
  }

  std::string file_;
  std::vector<DeclaredParameter> parameters_;
  std::optional<DeclaredLaunch> launch_;
  std::string qualified_name_;
};

/// The distinct compilations for the declared values, in the order of the values; the last
/// parameter changes first.
class DeclaredCompilations {
 public:
  DeclaredCompilations(const Declaration& declaration, const LaunchSource& source)
      : declaration_(declaration), source_(source) {
    for (const DeclaredParameter& parameter : declaration.parameters)
      names_[parameter.name] = parameter.values.front();
  }

  std::vector<Compilation> all() {
    std::set<std::string> varied = source_.names();
    const Names first = names_;
    if (!varied.empty()) {
      for (const PlacedExpression& requirement : declaration_.requirements)
        varied.merge(requirement.expression.names());
      for (const DeclaredParameter& parameter : declaration_.parameters)
        if (varied.contains(parameter.name)) varied_.push_back(&parameter);
      vary(0);
    }
    if (compilations_.empty()) compilations_.push_back(source_.at(first));
    return std::move(compilations_);
  }

 private:
  void vary(std::size_t i) {
    // Combinations, so that a file with many axes is loaded in little time.
    constexpr std::size_t kMaxCombinations = 100'000;
    if (i == varied_.size()) {
      ++combinations_;
      return add();
    }
    for (const Value& value : varied_[i]->values) {
      if (combinations_ >= kMaxCombinations) return;
      names_[varied_[i]->name] = value;
      vary(i + 1);
    }
  }

  // An expression that these values make invalid, such as a division with a remainder, excludes
  // them here; if they are planned, it is reported.
  void add() {
    try {
      for (const PlacedExpression& requirement : declaration_.requirements)
        if (!requirement.expression.holds(names_)) return;
      Compilation compilation = source_.at(names_);
      if (texts_.insert(compilation.text()).second) compilations_.push_back(std::move(compilation));
    } catch (const ExpressionError&) {
    } catch (const DeclarationError&) {
    }
  }

  const Declaration& declaration_;
  const LaunchSource& source_;
  Names names_;
  std::vector<const DeclaredParameter*> varied_;
  std::vector<Compilation> compilations_;
  std::set<std::string> texts_;
  std::size_t combinations_ = 0;
};

/// At most `count` of the compilations: the first one, and others at even distances.
std::vector<Compilation> some_of(const std::vector<Compilation>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<Compilation> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(all[i * all.size() / count]);
  return some;
}

/// The compiler's errors; empty if the file compiles.
std::optional<std::string> errors_of(const Compilation& compilation, OwnModules& modules,
                                     int compute_capability) {
  try {
    modules.module(compilation, compute_capability);
    return std::nullopt;
  } catch (const CompileError& error) {
    return error.what();
  }
}

/// The first compilation without errors; the number of compilations if there is none.
std::size_t first_without_errors(const std::vector<Compilation>& tried, OwnModules& modules,
                                 int compute_capability) {
  const auto compiles = [&](std::size_t i) {
    return !errors_of(tried[i], modules, compute_capability);
  };
  if (compiles(0)) return 0;
  std::atomic<std::size_t> next{1};
  std::atomic<std::size_t> first{tried.size()};
  // Numbers are taken in order, so all compilations before the first one found are tried.
  on_threads(host_threads(), [&] {
    while (first == tried.size()) {
      const std::size_t i = next++;
      if (i >= tried.size()) return;
      if (!compiles(i)) continue;
      std::size_t known = first;
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
    }
  });
  return first;
}

class LaunchedKernels {
 public:
  LaunchedKernels(const Declaration& declaration, std::string_view source,
                  const std::shared_ptr<OwnModules>& modules,
                  const std::vector<int>& compute_capabilities)
      : declaration_(declaration),
        source_(source),
        modules_(modules),
        compute_capabilities_(compute_capabilities) {
    check_names(declaration);  // before anything is compiled
  }

  std::vector<OwnKernel> all() {
    const std::vector<Tried> tried = all_tried();
    std::vector<Compilation> first;
    for (const Tried& of : tried)
      first.push_back(of.compilations.front());
    modules_->compile(first, compute_capabilities_.front());
    for (const Tried& of : tried) {
      if (of.launch)
        add_instantiation(of);
      else
        add_named(of);
    }
    if (kernels_.empty() && first_errors_.empty()) refuse_file_without_kernels();
    const bool has_code = std::ranges::any_of(kernels_, &OwnKernel::has_code);
    if (!has_code || lacks_reference()) throw InputError(first_errors_);
    return std::move(kernels_);
  }

 private:
  /// The compilations that are tried for a launch with template arguments; or, if `launch` is null,
  /// for all others.
  struct Tried {
    const DeclaredLaunch* launch = nullptr;
    LaunchSource source;
    std::vector<Compilation> compilations;
  };
  struct Compiled {
    Compilation compilation;
    int compute_capability = 0;
  };

  std::vector<Tried> all_tried() const {
    // A file that never compiles fails after a few seconds.
    constexpr std::size_t kMaxTried = 32;
    std::vector<Tried> all;
    std::set<std::string> known;
    for (const DeclaredLaunch* launch : declaration_.launches()) {
      const std::optional<std::string> arguments = launch->template_text();
      if (!known.insert(arguments ? launch->kernel + "<" + *arguments : "").second) continue;
      if (arguments) check_template(*launch);
      Tried& tried =
          all.emplace_back(arguments ? launch : nullptr,
                           LaunchSource(declaration_, source_, arguments ? launch : nullptr));
      tried.compilations =
          some_of(DeclaredCompilations(declaration_, tried.source).all(), kMaxTried);
    }
    return all;
  }

  [[noreturn]] void refuse_file_without_kernels() const {
    const DeclaredLaunch& launch = *declaration_.launches().front();
    fail(declaration_.file, launch.place,
         fmt::format("the file has no kernel '{}': it defines no __global__ function",
                     shorten(launch.kernel)));
  }

  void check_template(const DeclaredLaunch& launch) const {
    const auto kernel = kernel_in(source_, launch.kernel);
    if (!kernel || kernel->is_template) return;
    fail(declaration_.file, launch.place,
         fmt::format("kernel '{0}' is no template, but the launch has the template arguments "
                     "<{1}>; expected {0}<<<GRID, BLOCK>>>",
                     shorten(launch.kernel), shorten(*launch.template_text())));
  }

  // The kernels that launches name without template arguments.
  void add_named(const Tried& tried) {
    const auto compiled = first_compiled(tried);
    if (!compiled) throw InputError(first_errors_);  // all launches need this code, too
    const CompiledModule& module =
        modules_->module(compiled->compilation, compiled->compute_capability);
    for (const KernelSignature& signature : OwnModules::named_kernels(module))
      add_compiled(tried.source, module.kernels(), signature, std::nullopt);
  }

  void add_instantiation(const Tried& tried) {
    const DeclaredLaunch& launch = *tried.launch;
    const auto compiled = first_compiled(tried);
    if (compiled) {
      const auto& [compilation, capability] = *compiled;
      return add_compiled(tried.source, modules_->module(compilation, capability).kernels(),
                          modules_->instantiated(compilation, capability), launch.template_text());
    }
    // Its code is the compiler's error at a problem's values.
    KernelSignature unknown;
    unknown.name = launch.kernel;
    add(tried.source, unknown, launch.template_text()).has_code = false;
  }

  OwnKernel& add(const LaunchSource& source, const KernelSignature& signature,
                 std::optional<std::string> template_text) {
    const auto address = [source, modules = modules_, signature](const Names& names) {
      return modules->kernel(source.at(names), signature);
    };
    return kernels_.emplace_back(signature, address, std::move(template_text));
  }

  void add_compiled(const LaunchSource& source, const CubinKernels& code,
                    const KernelSignature& signature, std::optional<std::string> template_text) {
    OwnKernel& kernel = add(source, signature, std::move(template_text));
    const KernelResource* const resource = code.find(signature.lowered_name);
    kernel.launches_kernels = resource && resource->launches_kernels;
    kernel.has_clusters = code.attributes(signature.lowered_name).cluster[0] > 0;
  }

  bool lacks_reference() const {
    if (!declaration_.reference) return false;
    const auto launches = [&](const OwnKernel& kernel) {
      return std::ranges::any_of(declaration_.reference->launch.steps, [&](const auto& step) {
        const auto* const launch = std::get_if<DeclaredLaunch>(&step);
        return launch && launch->kernel == kernel.signature.name &&
               launch->template_text() == kernel.template_text;
      });
    };
    return std::ranges::any_of(
        kernels_, [&](const OwnKernel& kernel) { return !kernel.has_code && launches(kernel); });
  }

  // Empty if none compiles; the errors are then in first_errors_.
  std::optional<Compiled> first_compiled(const Tried& tried) {
    const std::vector<Compilation>& compilations = tried.compilations;
    for (const int capability : compute_capabilities_) {
      const std::size_t first = first_without_errors(compilations, *modules_, capability);
      if (first < compilations.size()) return Compiled{compilations[first], capability};
    }
    const auto errors = errors_of(compilations.front(), *modules_, compute_capabilities_.front());
    keep_errors(*errors, compilations.size() - 1, tried.launch);
    return std::nullopt;
  }

  void keep_errors(const std::string& errors, std::size_t others, const DeclaredLaunch* launch) {
    const bool is_unknown =
        launch && !kernel_in(source_, launch->kernel) &&
        errors.find(fmt::format("\"{}\" is undefined", launch->kernel)) != std::string::npos;
    if (is_unknown) {
      const std::vector<std::string> known = kernels_in(source_);
      fail(declaration_.file, launch->place,
           fmt::format("the file has no kernel '{}'{}", shorten(launch->kernel),
                       known.empty() ? "" : allowed_names(launch->kernel, known)));
    }
    if (!first_errors_.empty()) return;
    first_errors_ = errors;
    if (others > 0)
      first_errors_ +=
          fmt::format("\n{} of the declared values {} tried, too, without success",
                      counted(others, "other combination"), others == 1 ? "was" : "were");
  }

  const Declaration& declaration_;
  std::string_view source_;
  std::shared_ptr<OwnModules> modules_;
  const std::vector<int>& compute_capabilities_;
  std::vector<OwnKernel> kernels_;
  std::string first_errors_;  // errors of the first kernel that does not compile
};

}  // namespace

std::vector<OwnKernel> launched_kernels(const Declaration& declaration, std::string_view source,
                                        const std::shared_ptr<OwnModules>& modules,
                                        const std::vector<int>& compute_capabilities) {
  return LaunchedKernels(declaration, source, modules, compute_capabilities).all();
}

}  // namespace gpuexp::own
