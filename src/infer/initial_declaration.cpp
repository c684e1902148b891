#include "infer/initial_declaration.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parallel.hpp"
#include "base/text_parts.hpp"
#include "compile/nvcc_text.hpp"
#include "infer/declaration_text.hpp"
#include "infer/host_files.hpp"
#include "infer/launch_sequence.hpp"
#include "infer/set_variables.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp::infer {

namespace fs = std::filesystem;

namespace {

constexpr int kComputeCapability = 90;

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

/// "16_float" for "16, float".
std::string name_part(const std::string& template_arguments) {
  std::string part;
  for (const char c : template_arguments) {
    const bool is_of_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_of_word || part.empty() || part.back() != '_') part += is_of_word ? c : '_';
  }
  return part;
}

/// A compiled kernel, and its launches in the text.
struct Candidate {
  KernelSignature signature;
  std::vector<const TextLaunch*> launches;
};

/// A launch whose template arguments the text does not say.
struct Unresolved {
  const TextLaunch* launch = nullptr;
  std::string why;
  bool is_used = false;  ///< with arguments of a compiled instance
};

/// A launch to execute; `text` is null if it is assumed.
struct Execution {
  std::size_t candidate = 0;
  const TextLaunch* text = nullptr;
  std::optional<ResolvedLaunch> launch;
  std::size_t same_as = 0;  ///< index of the execution whose result it has; its own if it has none
  InferredKernel result = {};
};

bool are_same(const ResolvedLaunch& a, const ResolvedLaunch& b) {
  const auto text = [](const ResolvedLaunch& launch) {
    std::string all = launch.shared_bytes ? launch.shared_bytes->text() : "";
    for (const LaunchMemset& memset : launch.memsets)
      all += fmt::format(";{}={}", memset.argument, memset.byte);
    for (const auto* expressions : {&launch.grid, &launch.block, &launch.arguments})
      for (const own::Expression& expression : *expressions)
        all += ";" + expression.text();
    return all;
  };
  return text(a) == text(b) &&
         std::ranges::equal(a.parameters, b.parameters, [](const auto& x, const auto& y) {
           return x.name == y.name && x.value == y.value && x.is_fixed == y.is_fixed;
         });
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
    code_ = host_code_of({request_.file, text_, kernels_, request_.launch_files});
    result_.options = request_.options;
    find_instances();
    compile();
    add_candidates();
    note_missing();
    SetVariables set = variables_set_by(code_, *module_);
    result_.variables = std::move(set.buffers);
    result_.notes.insert(result_.notes.end(), set.notes.begin(), set.notes.end());
    plan_executions();
    execute();
    add_variants();
    if (result_.variants.empty())
      throw InputError(fmt::format("{}: {}", name, fmt::join(result_.notes, "; ")));
    return std::move(result_);
  }

 private:
  // ---- kernels

  /// Templates with the arguments of their launches.
  void find_instances() {
    for (const TextLaunch& launch : code_.launches()) {
      const bool is_known = std::ranges::find(kernels_, launch.kernel) != kernels_.end();
      if (launch.template_arguments.empty() || !is_known) continue;
      const bool has_all =
          launch.template_arguments.size() >= code_.required_template_arguments(launch.kernel);
      if (!has_all) {
        unresolved_.push_back({&launch, "a template argument that the compiler deduces"});
        continue;
      }
      try {
        add_instance(launch, resolved_template_arguments(launch, code_));
      } catch (const HostExpressionError& error) {
        unresolved_.push_back({&launch, error.what()});
      }
    }
  }

  /// Launches in host templates whose arguments the compiler deduced, for the instance that it
  /// made.
  std::vector<const TextLaunch*> deduced_launches(const KernelSignature& instance) {
    std::vector<const TextLaunch*> launches;
    const Tokens text = tokens_of(instance.template_arguments);
    const std::vector<Tokens> values = comma_parts(text);
    for (Unresolved& unresolved : unresolved_) {
      const std::vector<Tokens>& names = unresolved.launch->template_arguments;
      if (unresolved.launch->kernel != instance.name || names.size() > values.size()) continue;
      std::map<std::string, std::string> arguments;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string name = joined(names[i], 0, names[i].size());
        const std::string value = joined(values[i], 0, values[i].size());
        if (name != value) arguments[name] = value;
      }
      std::vector<const TextLaunch*> of_instance =
          arguments.empty() ? std::vector{unresolved.launch}
                            : code_.launches_of_instance(*unresolved.launch, arguments);
      std::erase_if(of_instance,
                    [&](const auto* launch) { return launch->kernel != instance.name; });
      launches.insert(launches.end(), of_instance.begin(), of_instance.end());
      unresolved.is_used |= !of_instance.empty();
    }
    return launches;
  }

  /// Begins with launches in instances of host templates that have the kernel's arguments, such as
  /// "_float" in "copy_all_float_128".
  void prefer_own_instances(Candidate& candidate) const {
    const std::string own = "_" + name_part(candidate.signature.template_arguments);
    std::ranges::stable_partition(candidate.launches, [&](const TextLaunch* launch) {
      return (code_.instance_at(launch->at) + "_").find(own + "_") != std::string::npos;
    });
  }

  void note_unresolved() {
    for (const Unresolved& unresolved : unresolved_) {
      if (unresolved.is_used) continue;
      const TextLaunch& launch = *unresolved.launch;
      result_.notes.push_back(
          fmt::format("{}: the launch in {}:{} is not used, because {} is not known", launch.kernel,
                      launch.file, launch.line, unresolved.why));
    }
  }

  void add_instance(const TextLaunch& launch, const std::string& arguments) {
    const auto kernel = kernel_in(text_, launch.kernel);
    const Instantiation added{kernel ? kernel->qualified_name : launch.kernel, arguments, 1};
    const auto known = std::ranges::find(instances_, added.text(), &Instantiation::text);
    const auto index = static_cast<std::size_t>(known - instances_.begin());
    if (known == instances_.end()) {
      instances_.push_back(added);
      launches_of_instances_.emplace_back();
    }
    launches_of_instances_[index].push_back(&launch);
  }

  void compile() {
    module_ = compiler_.compile(fs::absolute(request_.file).lexically_normal(),
                                parsed_options(request_.options), kComputeCapability, instances_);
  }

  /// The instances, and the other kernels of the file.
  void add_candidates() {
    std::set<std::string> lowered;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      const KernelResource* const kernel = instantiated_kernel(module_->kernels(), i);
      if (!kernel || !lowered.insert(kernel->lowered_name).second) continue;
      const std::vector<std::string> name{kernel->lowered_name};
      Candidate instance{signatures(name, text_).front(), launches_of_instances_[i]};
      instance.signature.template_arguments = instances_[i].arguments;
      add(std::move(instance));
    }
    for (KernelSignature& signature : signatures(module_->kernels(), text_)) {
      if (!lowered.insert(signature.lowered_name).second) continue;
      if (std::ranges::find(kernels_, signature.name) == kernels_.end()) continue;
      Candidate candidate{std::move(signature), {}};
      for (const TextLaunch& launch : code_.launches())
        if (launch.kernel == candidate.signature.name && launch.template_arguments.empty())
          candidate.launches.push_back(&launch);
      if (candidate.launches.empty() && !candidate.signature.template_arguments.empty())
        candidate.launches = deduced_launches(candidate.signature);
      if (!candidate.signature.template_arguments.empty()) prefer_own_instances(candidate);
      add(std::move(candidate));
    }
    note_unresolved();
    std::ranges::stable_sort(candidates_, {},
                             [](const Candidate& candidate) { return candidate.signature.line; });
  }

  void add(Candidate candidate) {
    const std::string why = unsupported_parameter(candidate.signature);
    if (why.empty()) return candidates_.push_back(std::move(candidate));
    leave_out(candidate.signature.name, why);
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

  // ---- executions

  /// The launches that a declaration can state: of each kernel the first one, and those that may
  /// follow each other.
  void plan_executions() {
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      const Candidate& candidate = candidates_[c];
      bool has_launch = false;
      for (const TextLaunch* launch : candidate.launches) {
        if (has_launch && !may_follow(*launch)) continue;
        try {
          add_execution(c, *launch, resolved_launch(candidate.signature, *launch, code_));
          has_launch = true;
        } catch (const HostExpressionError& error) {
          result_.notes.push_back(fmt::format("{}: the launch in {}:{} is not used, because of {}",
                                              launch->kernel, launch->file, launch->line,
                                              error.what()));
        }
      }
      if (!has_launch) executions_.push_back({c, nullptr, std::nullopt, executions_.size(), {}});
    }
  }

  /// Launches that differ only in their places are executed once.
  void add_execution(std::size_t candidate, const TextLaunch& text, ResolvedLaunch launch) {
    const auto same = std::ranges::find_if(executions_, [&](const Execution& other) {
      return other.candidate == candidate && other.launch && are_same(*other.launch, launch);
    });
    const auto index = static_cast<std::size_t>(same - executions_.begin());
    executions_.push_back({candidate, &text, std::move(launch), index, {}});
  }

  /// Whether another kernel is launched in the same block of host code.
  bool may_follow(const TextLaunch& launch) const {
    const std::size_t block = code_.place_of(launch.at).block;
    return std::ranges::any_of(code_.launches(), [&](const TextLaunch& other) {
      return other.at != launch.at && code_.place_of(other.at).block == block &&
             std::ranges::find(kernels_, other.kernel) != kernels_.end();
    });
  }

  void execute() {
    std::mutex mutex;
    std::size_t done = 0;
    const auto report = [&](std::size_t count) {
      const std::lock_guard lock(mutex);
      done += count;
      if (request_.progress) request_.progress(done, executions_.size());
    };
    report(0);
    for_parts(host_threads(), std::ssize(executions_), 1, [&](std::int64_t i, std::int64_t) {
      const auto index = static_cast<std::size_t>(i);
      if (executions_[index].same_as == index) execute(executions_[index]);
      report(1);
    });
    for (Execution& execution : executions_) {
      const Execution& executed = executions_[execution.same_as];
      if (&executed == &execution) continue;
      execution.result = executed.result;
      execution.result.notes.front() = execution.launch->notes.front();  // where it is launched
    }
  }

  void execute(Execution& execution) const {
    const KernelSignature& signature = candidates_[execution.candidate].signature;
    const KernelResource& code = *module_->kernels().find(signature.lowered_name);
    const ProbedKernel kernel{signature, address_of(signature.lowered_name),
                              reads(code, "SR_TID.Y"), reads(code, "SR_CTAID.Y")};
    const KernelResources no_resources;
    sim::Simulator simulator(no_resources, kComputeCapability);
    execution.result = inferred_kernel(kernel, execution.launch, simulator, budget());
  }

  /// All executions take about ten seconds on two processors.
  ProbeBudget budget() const {
    constexpr std::uint64_t kOfAll = std::uint64_t{1} << 28;
    constexpr std::uint64_t kMin = std::uint64_t{1} << 24;
    constexpr std::uint64_t kMax = std::uint64_t{1} << 26;
    const std::uint64_t all =
        std::clamp(kOfAll / std::max<std::uint64_t>(executions_.size(), 1), kMin, kMax);
    return {all - all / 2, all / 2};
  }

  const void* address_of(const std::string& lowered_name) const {
    return LoadedKernels::global().add({lowered_name, [module = module_, lowered_name](int) {
                                          return LoadedCode{module->kernels().find(lowered_name),
                                                            module->cubin().string(),
                                                            module->hash()};
                                        }});
  }

  // ---- variants

  void add_variants() {
    std::set<const TextLaunch*> declared;
    add_sequences(declared);
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      const KernelSignature& signature = candidates_[c].signature;
      const bool is_in_sequence = std::ranges::any_of(executions_, [&](const Execution& execution) {
        return execution.candidate == c && declared.contains(execution.text);
      });
      if (is_in_sequence) continue;
      const auto found = std::ranges::find_if(executions_, [&](const Execution& execution) {
        return execution.candidate == c && execution.result.has_sizes;
      });
      const auto first = std::ranges::find(executions_, c, &Execution::candidate);
      const Execution& used = found == executions_.end() ? *first : *found;
      add_variant(variant_of(id_of(signature), used.result));
      declared.insert(used.text);
    }
    note_left_out(declared);
  }

  /// Names launches with other arguments than the declared launch of the same kernel and block.
  void note_left_out(const std::set<const TextLaunch*>& declared) {
    for (const Execution& execution : executions_) {
      if (!execution.text || declared.contains(execution.text)) continue;
      const TextLaunch& launch = *execution.text;
      const auto other = std::ranges::find_if(executions_, [&](const Execution& used) {
        return used.text && declared.contains(used.text) && used.candidate == execution.candidate &&
               are_in_one_block(*used.text, launch) &&
               arguments_of(*used.text) != arguments_of(launch);
      });
      if (other == executions_.end()) continue;
      result_.notes.push_back(fmt::format(
          "{}: the launch in {}:{} with the arguments ({}) is not declared; line {} has ({})",
          launch.kernel, launch.file, launch.line, arguments_of(launch),
          other->text->line, arguments_of(*other->text)));
    }
  }

  bool are_in_one_block(const TextLaunch& a, const TextLaunch& b) const {
    return code_.place_of(a.at).block == code_.place_of(b.at).block;
  }

  static std::string arguments_of(const TextLaunch& launch) {
    std::vector<std::string> texts;
    for (const Tokens& argument : launch.arguments)
      texts.push_back(joined(argument, 0, argument.size()));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  /// The kernel's name, with its template arguments if there are several instances of it.
  std::string id_of(const KernelSignature& signature) const {
    const auto instances = std::ranges::count_if(candidates_, [&](const Candidate& candidate) {
      return candidate.signature.name == signature.name;
    });
    if (instances < 2) return signature.name;
    return signature.name + "_" + name_part(signature.template_arguments);
  }

  void add_variant(InferredVariant variant) {
    const std::string id = variant.id;
    for (int i = 2; std::ranges::find(result_.variants, variant.id, &InferredVariant::id) !=
                    result_.variants.end();
         ++i)
      variant.id = fmt::format("{}_{}", id, i);
    result_.variants.push_back(std::move(variant));
  }

  /// Adds the launches of the sequences to `declared`.
  void add_sequences(std::set<const TextLaunch*>& declared) {
    std::vector<InferredLaunch> launches;
    for (const Execution& execution : executions_)
      if (execution.text && execution.result.has_sizes)
        launches.push_back({execution.text, execution.result});
    std::ranges::sort(launches, {}, [](const InferredLaunch& launch) { return launch.text->at; });
    for (std::size_t i = 0; i < launches.size();) {
      std::vector<const InferredLaunch*> sequence{&launches[i++]};
      while (i < launches.size() && continues(sequence, launches[i], code_))
        sequence.push_back(&launches[i++]);
      if (sequence.size() < 2) continue;
      auto variant = sequence_of(sequence, code_);
      if (!variant) continue;
      add_variant(std::move(*variant));
      for (const InferredLaunch* launch : sequence)
        declared.insert(launch->text);
    }
  }

  const InitRequest& request_;
  const SourceCompiler& compiler_;
  std::string text_;
  std::vector<std::string> kernels_;  ///< names, in the order of the source
  HostCode code_;
  std::vector<Instantiation> instances_;
  std::vector<std::vector<const TextLaunch*>> launches_of_instances_;  ///< by instance
  std::vector<Unresolved> unresolved_;
  std::shared_ptr<const CompiledModule> module_;
  std::vector<Candidate> candidates_;
  std::vector<Execution> executions_;
  InitialDeclaration result_;
};

DeclarationParts parts_of(const InitialDeclaration& declaration, bool has_arguments) {
  return {declaration.variants, declaration.variables, declaration.options, declaration.notes,
          has_arguments};
}

}  // namespace

InitialDeclaration initial_declaration(const InitRequest& request, const SourceCompiler& compiler) {
  return Initializer(request, compiler).declaration();
}

std::string lines_for_file(const InitialDeclaration& declaration) {
  return declaration_text(parts_of(declaration, false));
}

std::string including_file(const InitialDeclaration& declaration, const std::string& include) {
  return fmt::format("{}\n#include \"{}\"\n", declaration_text(parts_of(declaration, true)),
                     include);
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
