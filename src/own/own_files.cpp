#include "own/own_files.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "base/json.hpp"
#include "base/utf8.hpp"
#include "compile/kernel_input.hpp"
#include "compile/kernel_sources.hpp"
#include "compile/triton_metadata.hpp"
#include "own/check_errors.hpp"
#include "own/exact_sums.hpp"
#include "own/kernel_file.hpp"
#include "own/launched_kernels.hpp"
#include "own/own_family.hpp"
#include "own/own_modules.hpp"
#include "own/tuning_parameters.hpp"
#include "own/variable_binding.hpp"

namespace gpuexp::own {

namespace fs = std::filesystem;

namespace {

/// The text with only characters that a config's name, which becomes the name of a file, can have.
std::string config_name(std::string_view text) {
  constexpr std::size_t kMaxName = 128;
  std::string name(text.substr(0, kMaxName));
  for (char& c : name) {
    const bool is_allowed =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    if (!is_allowed) c = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  name.resize(std::min(name.size(), kMaxName));
  return name;
}

/// The path with which another process, or a config, can name the file: that of its JSON
/// declaration or source.
fs::path name_of(const KernelFile& file) {
  return is_kernel_file(file.path.string()) ? file.path : file.source;
}

std::vector<std::string> kernels_of(const KernelFile& file) {
  switch (kind_of(file.source)) {
    case KernelFileKind::source: return kernels_in(file.contents);
    case KernelFileKind::ptx: return kernels_in_ptx(file.contents);
    case KernelFileKind::cubin: break;
  }
  return {};
}

/// Those of the compute capabilities for which the file can have code, or else one for which it
/// has.
std::vector<int> first_capabilities(const CodeTarget& target, std::vector<int> wanted) {
  std::erase_if(wanted, [&](int capability) { return !target.refusal(capability).empty(); });
  if (wanted.empty()) wanted.push_back(target.first_compute_capability());
  return wanted;
}

void add_triton_metadata(const std::optional<TritonMetadata>& triton,
                         std::vector<OwnKernel>& kernels) {
  for (OwnKernel& kernel : kernels)
    if (triton && triton->kernel == kernel.signature.lowered_name) kernel.triton = triton;
}

}  // namespace

struct OwnFiles::File {
  KernelFile read;
  std::vector<DeclaredParameter> parameters;
  std::shared_ptr<OwnModules> modules;
  SharedBound bound;
  const Family* family = nullptr;
  const Family* exact = nullptr;  ///< with contents for which sums are exact
  std::optional<fs::path> triton_file = std::nullopt;
};

OwnFiles::OwnFiles(Registry& registry, SourceCompiler compiler)
    : registry_(registry), compiler_(std::make_shared<SourceCompiler>(std::move(compiler))) {}

OwnFiles::~OwnFiles() = default;

OwnFiles::File& OwnFiles::loaded(const fs::path& file) {
  const fs::path path = kernel_file_of(file);
  const auto known = std::ranges::find_if(
      files_, [&](const File& f) { return f.read.path == path || f.read.source == path; });
  if (known != files_.end()) return *known;
  KernelFile read = read_kernel_file(file);
  const std::string id = read.source.filename().string();
  if (registry_.find(id))
    throw ConfigError(fmt::format("{}: another kernel file is called {}, too; rename one of them",
                                  file.string(), id));
  const CodeTarget target = code_target(read.source, read.contents);
  Declaration declaration = std::move(read.declaration);
  const auto modules =
      std::make_shared<OwnModules>(compiler_, read.source, parsed_options(declaration.options));
  const std::vector<std::string> in_source = kernels_of(read);
  std::vector<OwnKernel> kernels = launched_kernels(
      declaration, read.contents, modules, first_capabilities(target, compute_capabilities_()));
  const std::optional<TritonMetadata> triton = triton_metadata(read.source);
  add_triton_metadata(triton, kernels);
  File loaded{std::move(read), declaration.parameters, modules, nullptr, nullptr, nullptr};
  const std::shared_ptr<const CompiledModule> module = modules->any_module();
  if (triton) loaded.triton_file = triton->file;
  loaded.bound = bound_to(std::move(declaration), std::move(kernels), in_source,
                          own_variables(module->kernels().data(), module->source_text()));
  registry_.add(family_of(id, loaded.bound));
  loaded.family = registry_.find(id);
  if (!loaded.family)
    throw std::runtime_error(fmt::format("{}: {}", file.string(), registry_.errors().back()));
  loaded.exact = &registry_.add_exact(exact_family_of(id + " (exact sums)", loaded.bound));
  files_.push_back(std::move(loaded));
  return files_.back();
}

const Family& OwnFiles::load(const fs::path& file) {
  return *loaded(file).family;
}

std::vector<DeclarationSection> OwnFiles::sections(const fs::path& file) {
  return sections_of(*loaded(file).bound);
}

std::string OwnFiles::config_text(const fs::path& file) {
  const File& of = loaded(file);
  // JSON would replace other bytes.
  if (!is_utf8(of.read.path.string()))
    throw ConfigError(
        fmt::format("{}: the path is not UTF-8; rename the file", of.read.path.string()));
  Json axes = Json::object();
  for (const DeclaredParameter& parameter : of.parameters) {
    Json values = Json::array();
    for (const Value& value : parameter.values)
      std::visit([&](const auto& v) { values.push_back(v); }, value);
    axes[parameter.name] = std::move(values);
  }
  Json experiment = Json::object();
  const std::string name = config_name(of.read.source.stem().string());
  experiment["name"] = name;
  experiment["family"] = name_of(of.read).string();
  experiment["axes"] = std::move(axes);
  Json config = Json::object();
  config["name"] = name;
  config["description"] = fmt::format("Kernels of {}", of.read.source.filename().string());
  config["experiments"] = Json::array();
  config["experiments"].push_back(std::move(experiment));
  return config.dump(2) + "\n";
}

KernelFiles OwnFiles::callbacks() {
  KernelFiles files;
  files.load = [this](const std::string& file) -> const Family& { return load(file); };
  files.config_text = [this](const std::string& file) { return config_text(file); };
  files.unused_parameters = [this](const Family& family, const Variant& variant) {
    return unused_parameters(family, variant);
  };
  files.exact_verification = [this](const Family& family, const Values& values) {
    return exact_verification(family, values);
  };
  files.check_error = [this](const Family& family, const Values& values, std::uint64_t seed,
                             const std::string& output, std::int64_t element) {
    return check_error(family, values, seed, output, element);
  };
  files.element_name = [this](const Family& family, const Values& values, const std::string& buffer,
                              std::int64_t element) {
    return element_name(family, values, buffer, element);
  };
  files.compared_with_itself = [this](const Family& family, const Variant& variant) {
    return of(family).bound->compared_with_itself(variant.id);
  };
  return files;
}

const OwnFiles::File& OwnFiles::of(const Family& family) const {
  const auto file = std::ranges::find_if(
      files_, [&](const File& f) { return f.family == &family || f.exact == &family; });
  if (file == files_.end()) throw std::logic_error(family.id + " is not a loaded kernel file");
  return *file;
}

std::vector<std::string> OwnFiles::unused_parameters(const Family& family,
                                                     const Variant& variant) const {
  const Bound& bound = *of(family).bound;
  return own::unused_parameters(bound,
                                *std::ranges::find(bound.variants, variant.id, &BoundVariant::id));
}

ExactVerification OwnFiles::exact_verification(const Family& family, const Values& values) const {
  const File& file = of(family);
  const ExactSums sums = exact_sums_of(*file.bound, problem_of(*file.bound, values));
  return {sums.contents.largest > 0 ? file.exact : nullptr, sums.why_not};
}

std::string OwnFiles::check_error(const Family& family, const Values& values, std::uint64_t seed,
                                  const std::string& output, std::int64_t element) const {
  const File& file = of(family);
  const auto buffer = file.bound->buffer_named(output);
  if (!buffer) return "";
  if (file.bound->expected_by(*buffer) == ExpectedBy::reference && !file.bound->reference_is_first)
    return fmt::format(
        "the expected value of {} is NaN: the reference did not write it, or its result is NaN",
        element_name(family, values, output, element));
  if (!file.bound->check_of(*buffer)) return "";
  const auto problem = family.make_problem(values);
  return own::check_error(*file.bound, *static_cast<const OwnProblem*>(problem.get()), seed,
                          *buffer, element);
}

std::string OwnFiles::element_name(const Family& family, const Values& values,
                                   const std::string& buffer, std::int64_t element) const {
  const Bound& bound = *of(family).bound;
  const auto index = bound.buffer_named(buffer);
  if (!index) throw std::logic_error(buffer + " is not a buffer of " + family.id);
  return own::element_name(buffer, problem_of(bound, values).extents[*index], element);
}

std::vector<fs::path> OwnFiles::module_folders() const {
  return compiler_->module_folders();
}

void OwnFiles::use_nvrtc_server(fs::path library, std::shared_ptr<const NvrtcServer> server) {
  compiler_->use_nvrtc_server(std::move(library), std::move(server));
}

bool OwnFiles::used_nvrtc() const {
  return std::ranges::any_of(
      files_, [](const File& file) { return file.modules->any_module()->is_by_nvrtc(); });
}

void OwnFiles::use_only_modules_of(const std::vector<fs::path>& folders) {
  compiler_->use_only_modules_of(folders);
}

std::set<std::string> OwnFiles::tuning_parameters(const Family& family) const {
  return own::tuning_parameters(*of(family).bound);
}

std::vector<std::string> OwnFiles::paths() const {
  std::vector<std::string> paths;
  for (const File& file : files_)
    paths.push_back(name_of(file.read).string());
  return paths;
}

std::map<std::string, std::string> OwnFiles::sources() const {
  std::map<std::string, std::string> sources;
  for (const File& file : files_) {
    const bool has_text = kind_of(file.read.source) != KernelFileKind::cubin;
    for (auto& [name, text] :
         has_text ? file.modules->sources() : std::map<std::string, std::string>())
      sources.emplace((file.read.source.parent_path() / name).string(), std::move(text));
    if (file.read.path != file.read.source)
      sources.emplace(file.read.path.string(), file.read.declaration_text);
  }
  return sources;
}

std::vector<std::string> OwnFiles::files_read() const {
  std::set<std::string> read;
  for (const File& file : files_) {
    read.merge(file.modules->files());
    read.insert(file.read.path.string());
  }
  for (std::string& input : other_inputs())
    read.insert(std::move(input));
  return {read.begin(), read.end()};
}

std::vector<std::string> OwnFiles::other_inputs() const {
  std::set<std::string> inputs;
  for (const File& file : files_) {
    for (const fs::path& array : file.read.arrays)
      inputs.insert(array.string());
    if (kind_of(file.read.source) == KernelFileKind::cubin)
      inputs.insert(file.read.source.string());
    if (file.triton_file) inputs.insert(file.triton_file->string());
  }
  return {inputs.begin(), inputs.end()};
}

}  // namespace gpuexp::own
