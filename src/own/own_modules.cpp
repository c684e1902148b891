#include "own/own_modules.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compile/kernel_sources.hpp"

namespace gpuexp::own {

namespace {

/// "float*, int": what decides how a launch packs its arguments.
std::string parameter_types(const KernelSignature& signature) {
  std::vector<std::string> types;
  for (const KernelParameter& parameter : signature.parameters)
    types.push_back(parameter.type.text + (parameter.is_pointer ? "*" : ""));
  return fmt::format("{}", fmt::join(types, ", "));
}

std::string capability_text(int compute_capability) {
  return fmt::format("compute capability {}.{}", compute_capability / 10, compute_capability % 10);
}

[[noreturn]] void lack(const std::string& file, const std::string& kernel, int compute_capability) {
  throw InputError(
      fmt::format("{} has no code of {} for {}; if the kernel is static, remove static", file,
                  kernel, capability_text(compute_capability)));
}

/// The kernel without template arguments in the launch. Its lowered name contains types, which
/// macros may change.
KernelSignature named_kernel(const CompiledModule& module, const KernelSignature& signature) {
  std::vector<KernelSignature> found = signatures(module.kernels(), kernel_sources(module));
  std::erase_if(found, [&](const KernelSignature& s) { return s.name != signature.name; });
  const auto same =
      std::ranges::find(found, signature.lowered_name, &KernelSignature::lowered_name);
  if (same != found.end()) return *same;
  return found.size() == 1 ? found.front() : KernelSignature{};
}

}  // namespace

std::string Compilation::text() const {
  std::string text = instantiation ? instantiation->text() : "";
  for (const std::string& macro : macros)
    text += fmt::format("{}-D{}", text.empty() ? "" : " ", macro);
  return text;
}

const CompiledModule& OwnModules::module(const Compilation& compilation, int compute_capability) {
  return *modules_.get({compilation.text(), compute_capability}, [&] {
    CompileOptions options = options_;
    options.defines.insert(options.defines.end(), compilation.macros.begin(),
                           compilation.macros.end());
    std::vector<Instantiation> instantiations;
    if (compilation.instantiation) instantiations.push_back(*compilation.instantiation);
    auto compiled = compiler_->compile(source_, options, compute_capability, instantiations);
    const std::lock_guard lock(mutex_);
    for (const SourceText& source : compiled->sources())
      sources_.emplace(source.file, source.text);
    for (std::string& file : user_files(*compiled))
      files_.insert(std::move(file));
    if (!first_) first_ = compiled;
    return compiled;
  });
}

std::shared_ptr<const CompiledModule> OwnModules::any_module() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

std::map<std::string, std::string> OwnModules::sources() const {
  const std::lock_guard lock(mutex_);
  return sources_;
}

std::set<std::string> OwnModules::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

KernelSignature OwnModules::instantiated(const Compilation& compilation, int compute_capability) {
  const CompiledModule& compiled = module(compilation, compute_capability);
  const KernelResource* const kernel = instantiated_kernel(compiled.kernels());
  if (!kernel) lack(source_.string(), compilation.text(), compute_capability);
  return signatures(std::vector<std::string>{kernel->lowered_name}, kernel_sources(compiled))
      .front();
}

const void* OwnModules::kernel(const Compilation& compilation, const KernelSignature& signature) {
  const std::string name =
      compilation.instantiation ? compilation.instantiation->text() : signature.name;
  const std::string key = name + " " + signature.lowered_name + compilation.text();
  return kernels_.get(key, [&] {
    const auto codes = std::make_shared<OnceMap<int, LoadedCode>>();
    return LoadedKernels::global().add(
        {name, [modules = shared_from_this(), compilation, signature, codes](int capability) {
           return codes->get(capability,
                             [&] { return modules->code(compilation, signature, capability); });
         }});
  });
}

LoadedCode OwnModules::code(const Compilation& compilation, const KernelSignature& signature,
                            int compute_capability) {
  try {
    const CompiledModule& compiled = module(compilation, compute_capability);
    const KernelSignature found = compilation.instantiation
                                      ? instantiated(compilation, compute_capability)
                                      : named_kernel(compiled, signature);
    const KernelResource* const kernel = compiled.kernels().find(found.lowered_name);
    if (!kernel) lack(source_.string(), signature.name, compute_capability);
    if (signature.lowered_name.empty())
      throw InputError(fmt::format(
          "{}: {} compiles, but not the combinations that were tried to find the parameters of {}; "
          "exclude those with 'require'",
          source_.string(), compilation.text(), signature.name));
    if (parameter_types(found) != parameter_types(signature))
      throw InputError(fmt::format("{}: {} has the parameters ({}), but ({}) at other values",
                                   source_.string(), compilation.text(), parameter_types(found),
                                   parameter_types(signature)));
    return {kernel, compiled.cubin().string(), compiled.hash(), compiled.sources(),
            compiled.kernels().attributes(found.lowered_name).block};
  } catch (const CompileError& error) {
    // A reason why a cell is skipped is one line.
    throw InputError(fmt::format("does not compile for {}: {}",
                                 architecture_for(compute_capability), error.first_error()));
  }
}

}  // namespace gpuexp::own
