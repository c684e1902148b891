#include "own/own_modules.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parallel.hpp"
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
  std::vector<KernelSignature> found = OwnModules::named_kernels(module);
  std::erase_if(found, [&](const KernelSignature& s) { return s.name != signature.name; });
  const auto same =
      std::ranges::find(found, signature.lowered_name, &KernelSignature::lowered_name);
  if (same != found.end()) return *same;
  return found.size() == 1 ? found.front() : KernelSignature{};
}

}  // namespace

std::string Compilation::text() const {
  const std::string macros_text = macro_text();
  if (!instantiation) return macros_text;
  return instantiation->text() + (macros_text.empty() ? "" : " ") + macros_text;
}

std::string Compilation::macro_text() const {
  std::vector<std::string> words;
  for (const std::string& macro : macros)
    words.push_back("-D" + macro);
  return fmt::format("{}", fmt::join(words, " "));
}

ModuleGroups& OwnModules::groups_of(const Compilation& compilation, int compute_capability) {
  return *groups_.get({compilation.macro_text(), compute_capability}, [&] {
    CompileOptions options = options_;
    options.defines.insert(options.defines.end(), compilation.macros.begin(),
                           compilation.macros.end());
    return std::make_shared<ModuleGroups>(compiler_, source_, std::move(options),
                                          compute_capability);
  });
}

const CompiledModule& OwnModules::module(const Compilation& compilation, int compute_capability) {
  return *modules_.get({compilation.text(), compute_capability}, [&] {
    auto compiled = groups_of(compilation, compute_capability).module(compilation.instantiation);
    const std::lock_guard lock(mutex_);
    for (const SourceText& source : compiled->sources())
      sources_.emplace(source.file, source.text);
    for (std::string& file : user_files(*compiled))
      files_.insert(std::move(file));
    if (!first_) first_ = compiled;
    return compiled;
  });
}

void OwnModules::compile(const std::vector<Compilation>& compilations, int compute_capability) {
  for (const Compilation& compilation : compilations)
    groups_of(compilation, compute_capability).expect(compilation.instantiation);
  for_parts(host_threads(), std::ssize(compilations), 1, [&](std::int64_t i, std::int64_t) {
    try {
      module(compilations[static_cast<std::size_t>(i)], compute_capability);
    } catch (const std::exception&) {
      // module() throws it again.
    }
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
  const KernelResource* const kernel = compiled.instantiated(compilation.instantiation->text());
  if (!kernel) lack(source_.string(), compilation.text(), compute_capability);
  return signatures(std::vector<std::string>{kernel->lowered_name}, kernel_sources(compiled))
      .front();
}

std::vector<KernelSignature> OwnModules::named_kernels(const CompiledModule& module) {
  std::vector<KernelSignature> all = signatures(module.kernels(), kernel_sources(module));
  const std::vector<std::string> names = module.names_in_file();
  std::erase_if(all, [&](const KernelSignature& signature) {
    return std::ranges::find(names, signature.lowered_name) == names.end();
  });
  return all;
}

const void* OwnModules::kernel(const Compilation& compilation, const KernelSignature& signature) {
  const std::string name =
      compilation.instantiation ? compilation.instantiation->text() : signature.name;
  const std::string key = name + " " + signature.lowered_name + compilation.text();
  return kernels_.get(key, [&] {
    const auto codes = std::make_shared<OnceMap<int, LoadedCode>>();
    LoadedKernel kernel;
    kernel.name = name;
    kernel.code = [modules = shared_from_this(), compilation, signature, codes](int capability) {
      return codes->get(capability,
                        [&] { return modules->code(compilation, signature, capability); });
    };
    kernel.expect = [modules = shared_from_this(), compilation](int capability) {
      modules->groups_of(compilation, capability).expect(compilation.instantiation);
    };
    kernel.compiled_with = [modules = shared_from_this(), compilation](int capability) {
      return modules->groups_of(compilation, capability).group_of(compilation.instantiation);
    };
    return LoadedKernels::global().add(std::move(kernel));
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
    const std::string name =
        compilation.instantiation ? compilation.instantiation->text() : signature.name;
    return {kernel, compiled.cubin().string(), compiled.hash_of(name, *kernel), compiled.sources(),
            compiled.kernels().attributes(found.lowered_name).block};
  } catch (const CompileError& error) {
    // A reason why a cell is skipped is one line.
    throw InputError(fmt::format("does not compile for {}: {}",
                                 architecture_for(compute_capability), error.first_error()));
  }
}

}  // namespace gpuexp::own
