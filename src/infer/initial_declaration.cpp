#include "infer/initial_declaration.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output.hpp"
#include "base/text_parts.hpp"
#include "compile/nvcc_text.hpp"
#include "infer/declaration_text.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp::infer {

namespace fs = std::filesystem;

namespace {

constexpr int kComputeCapability = 90;

bool is_source_file(const fs::path& path) {
  constexpr std::array<std::string_view, 7> kSuffixes{".cu",  ".cuh", ".cpp", ".cc",
                                                      ".cxx", ".h",   ".hpp"};
  return std::ranges::find(kSuffixes, path.extension().string()) != kSuffixes.end();
}

/// Source files of the folder, in alphabetical order.
std::vector<fs::path> sources_in(const fs::path& folder) {
  constexpr std::size_t kMaxFiles = 200;
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && is_source_file(entry.path())) files.push_back(entry.path());
    if (files.size() == kMaxFiles) break;
  }
  std::ranges::sort(files);
  return files;
}

int line_of_declaration(std::string_view text) {
  for (int line = 1; !text.empty(); ++line) {
    std::string_view next = trimmed(take_until(text, "\n"));
    if (!next.starts_with("//")) continue;
    if (trimmed(next.substr(2)).starts_with("gpuexp:")) return line;
  }
  return 0;
}

bool reads(const KernelResource& kernel, std::string_view special_register) {
  return kernel.code.text().find(special_register) != std::string_view::npos;
}

/// Existing files that the text includes in quotes.
std::vector<fs::path> included_files(const std::string& text, const fs::path& folder) {
  std::vector<fs::path> files;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = trimmed(take_until(rest, "\n"));
    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) continue;
    take_until(line, "\"");
    const fs::path file = folder / take_until(line, "\"");
    std::error_code error;
    if (fs::is_regular_file(file, error)) files.push_back(file.lexically_normal());
  }
  return files;
}

class Initializer {
 public:
  Initializer(const InitRequest& request, const SourceCompiler& compiler)
      : request_(request), compiler_(compiler), text_(read_source(request.file)) {}

  InitialDeclaration declaration() {
    const std::string name = request_.file.string();
    if (const int line = line_of_declaration(text_); line > 0)
      throw InputError(fmt::format("{}:{}: the file has a declaration already", name, line));
    kernels_ = kernels_in(text_);
    if (kernels_.empty())
      throw InputError(fmt::format("{}: found no kernel; expected a __global__ function", name));
    add_code();
    result_.options = request_.options;
    find_instances();
    compile();
    for (const KernelSignature& signature : signatures(module_->kernels(), text_))
      add(signature);
    note_missing();
    std::ranges::stable_sort(result_.kernels, {},
                             [](const InferredKernel& kernel) { return kernel.signature.line; });
    if (result_.kernels.empty())
      throw InputError(fmt::format("{}: {}", name, fmt::join(result_.notes, "; ")));
    return std::move(result_);
  }

 private:
  bool is_launched(const std::string& kernel) const {
    return std::ranges::any_of(code_.launches(),
                               [&](const TextLaunch& launch) { return launch.kernel == kernel; });
  }

  void add_code() {
    add_with_includes(request_.file, request_.file.string(), text_);
    for (const fs::path& file : request_.launch_files)
      add_with_includes(file, file.string(), read_source(file));
    const bool has_all = std::ranges::all_of(
        kernels_, [&](const std::string& kernel) { return is_launched(kernel); });
    if (has_all || !request_.launch_files.empty()) return;
    const fs::path folder = fs::absolute(request_.file).lexically_normal().parent_path();
    for (const fs::path& place : {folder, folder.parent_path()}) {
      for (const fs::path& file : sources_in(place)) {
        std::error_code error;
        if (!fs::equivalent(file, request_.file, error)) add_if_launching(file);
      }
    }
  }

  /// Adds a file that launches a kernel which is not launched in the files before it.
  void add_if_launching(const fs::path& file) {
    std::string text;
    try {
      text = read_source(file);
    } catch (const InputError&) {
      return;
    }
    HostCode alone;
    alone.add(file.string(), text);
    const bool is_needed = std::ranges::any_of(alone.launches(), [&](const TextLaunch& launch) {
      return std::ranges::find(kernels_, launch.kernel) != kernels_.end() &&
             !is_launched(launch.kernel);
    });
    if (is_needed) add_with_includes(file, fs::proximate(file).string(), text);
  }

  /// Adds the text, and the files that it includes in quotes, for their constants.
  void add_with_includes(const fs::path& file, const std::string& name, const std::string& text) {
    code_.add(name, text);
    added_.insert(fs::absolute(file).lexically_normal());
    for (const fs::path& included : included_files(text, fs::absolute(file).parent_path())) {
      if (!added_.insert(included).second) continue;
      try {
        code_.add(fs::proximate(included).string(), read_source(included));
      } catch (const InputError&) {
        // Its constants remain unknown.
      }
    }
  }

  /// The first launch of each template whose arguments are known.
  void find_instances() {
    for (const TextLaunch& launch : code_.launches()) {
      const bool is_known = std::ranges::find(kernels_, launch.kernel) != kernels_.end();
      if (launch.template_arguments.empty() || !is_known || instances_.contains(launch.kernel))
        continue;
      try {
        const std::string arguments = resolved_template_arguments(launch, code_);
        instances_.emplace(launch.kernel, &launch);
        result_.instances.push_back(fmt::format("{}<{}>", launch.kernel, arguments));
      } catch (const HostExpressionError& error) {
        result_.notes.push_back(
            fmt::format("{}: the launch in {}:{} is not used, because {} is "
                        "not known",
                        launch.kernel, launch.file, launch.line, error.what()));
      }
    }
  }

  void compile() {
    CompileOptions options = parsed_options(request_.options);
    const fs::path source = fs::absolute(request_.file).lexically_normal();
    if (result_.instances.empty()) {
      module_ = compiler_.compile(source, options, kComputeCapability);
      return;
    }
    const TemporaryFolder folder;
    const fs::path including = folder / "instances.cu";
    write_file_atomically(including.string(), including_file(result_, source.string()));
    for (std::string& include : options.include_folders)
      include = (source.parent_path() / include).lexically_normal().string();
    module_ = compiler_.compile(including, options, kComputeCapability);
  }

  const void* address_of(const std::string& lowered_name) const {
    return LoadedKernels::global().add({lowered_name, [module = module_, lowered_name](int) {
                                          return LoadedCode{module->kernels().find(lowered_name),
                                                            module->cubin().string(),
                                                            module->hash()};
                                        }});
  }

  /// The first launch that a declaration can state.
  std::optional<ResolvedLaunch> launch_of(const KernelSignature& kernel) {
    for (const TextLaunch& launch : code_.launches()) {
      const auto instance = instances_.find(kernel.name);
      const bool is_instance = instance == instances_.end() || instance->second == &launch;
      if (launch.kernel != kernel.name || !is_instance) continue;
      try {
        return resolved_launch(kernel, launch, code_);
      } catch (const HostExpressionError& error) {
        result_.notes.push_back(fmt::format("{}: the launch in {}:{} is not used, because of {}",
                                            kernel.name, launch.file, launch.line, error.what()));
      }
    }
    return std::nullopt;
  }

  void add(const KernelSignature& signature) {
    if (std::ranges::find(kernels_, signature.name) == kernels_.end()) return;
    if (const std::string why = unsupported_parameter(signature); !why.empty())
      return leave_out(signature.name, why);
    const KernelResource& code = *module_->kernels().find(signature.lowered_name);
    const ProbedKernel kernel{signature, address_of(signature.lowered_name),
                              reads(code, "SR_TID.Y"), reads(code, "SR_CTAID.Y")};
    const KernelResources no_resources;
    sim::Simulator simulator(no_resources, kComputeCapability);
    try {
      result_.kernels.push_back(inferred_kernel(kernel, launch_of(signature), simulator));
    } catch (const InferenceError& error) {
      leave_out(signature.name, fmt::format("it cannot be executed: {}", error.what()));
    }
  }

  void leave_out(const std::string& kernel, const std::string& why) {
    result_.notes.push_back(fmt::format("{} is not declared: {}", kernel, why));
  }

  void note_missing() {
    for (const std::string& kernel : kernels_) {
      const bool is_compiled = std::ranges::any_of(module_->kernels().rows(), [&](const auto& row) {
        return kernel_name(row.first).starts_with(kernel);
      });
      if (!is_compiled)
        leave_out(kernel, "it is a template, and no launch with known arguments was found");
    }
  }

  const InitRequest& request_;
  const SourceCompiler& compiler_;
  std::string text_;
  std::vector<std::string> kernels_;  ///< names, in the order of the source
  HostCode code_;
  std::set<fs::path> added_;  ///< absolute paths of the files in code_
  std::map<std::string, const TextLaunch*, std::less<>> instances_;  ///< by kernel
  std::shared_ptr<const CompiledModule> module_;
  InitialDeclaration result_;
};

DeclarationParts parts_of(const InitialDeclaration& declaration, bool has_arguments) {
  return {declaration.kernels, declaration.options, declaration.notes, has_arguments};
}

}  // namespace

InitialDeclaration initial_declaration(const InitRequest& request, const SourceCompiler& compiler) {
  return Initializer(request, compiler).declaration();
}

std::string lines_for_file(const InitialDeclaration& declaration) {
  return declaration_text(parts_of(declaration, false));
}

std::string including_file(const InitialDeclaration& declaration, const std::string& include) {
  std::string text =
      declaration.kernels.empty() ? "" : declaration_text(parts_of(declaration, true));
  text += fmt::format("{}#include \"{}\"\n", text.empty() ? "" : "\n", include);
  if (declaration.instances.empty()) return text;
  text += "\n// Kernels are compiled for these template arguments.\n";
  return text +
         fmt::format("const void* const kInstances[] = {{reinterpret_cast<const void*>({})}};\n",
                     fmt::join(declaration.instances,
                               "),\n                                  "
                               "reinterpret_cast<const void*>("));
}

std::string new_kernel_file() {
  return R"(// A kernel and its declaration: the lines that begin with "// gpuexp:". Try
//   gpuexp verify THIS_FILE --simulate h200
//   gpuexp predict THIS_FILE --gpu h200
//
// Sizes and other numbers. Several values, such as n = 2^16..2^24, are an axis.
// gpuexp: n = 2^20
// gpuexp: alpha = 0.5
//
// Buffers. Pointers to const are inputs, others are outputs; in_out is both.
// gpuexp: x[n]
// gpuexp: in_out y[n]
//
// A line for each variant to compare, and the expected value of each element.
// gpuexp: axpy<<<ceil_div(n, 256), 256>>>
// gpuexp: check y[i] = alpha*x[i] + before(y[i])

__global__ void axpy(float alpha, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = alpha * x[i] + y[i];
}
)";
}

}  // namespace gpuexp::infer
