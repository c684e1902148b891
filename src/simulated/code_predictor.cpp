#include "simulated/code_predictor.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/json.hpp"
#include "base/process_copies.hpp"
#include "config/config_files.hpp"
#include "family/function_text.hpp"
#include "family/registry.hpp"
#include "model/phase_time.hpp"
#include "sass/loaded_kernels.hpp"
#include "simulated/code_prediction.hpp"
#include "simulated/prediction_store.hpp"

namespace gpuexp {

namespace {

// Text of all properties that predictions depend on and that are equal for all cells of a plan.
std::string common_key(const Plan& plan, const std::string& build_id) {
  const DeviceSpec& d = plan.device;
  std::string key = fmt::format(
      "build {}; {}: {}.{} {} SMs {} {} MHz L2 {} memory {} {} SM {} {} {} {} {} {} PCIe {}; {} "
      "GPUs {} {} {}; seed {}",
      build_id, d.name, d.cc_major, d.cc_minor, d.sm_count, d.sm_clock_max_mhz,
      d.sm_clock_tensor_mhz, d.l2_bytes, d.memory_bytes, d.memory_bytes_per_s, d.sm.max_threads,
      d.sm.max_blocks, d.sm.registers, d.sm.shared_bytes, d.sm.shared_bytes_per_block,
      d.sm.reserved_shared_bytes, d.pcie_bytes_per_s, d.machine.gpus,
      static_cast<int>(d.machine.link), static_cast<int>(d.machine.layout),
      d.machine.link_bytes_per_s, plan.config->seed);
  for (const std::optional<double>& peak : d.peak_ops_per_s)
    key += fmt::format("; peak {}", peak.value_or(0));
  Ceilings ceilings = plan.ceiling_source.ceilings;
  for (const CeilingTerm& term : ceiling_terms()) {
    if (const auto& value = term.of(ceilings)) key += fmt::format("; {} {}", term.id, *value);
  }
  return key;
}

}  // namespace

class CodePredictor::Impl {
 public:
  Impl(const Plan& plan, const KernelResources& kernels, const CodePredictorOptions& options)
      : plan_(plan),
        kernels_(kernels),
        options_(options),
        store_(options.build_id.empty() ? "" : options.kept_in),
        common_key_(common_key(plan, options.build_id)),
        problems_(problems_of(plan, kernels, options.threads)),
        predictions_(plan.cell_count()) {
    const bool has_users_kernels =
        std::ranges::any_of(problems_, [&](const Problem& problem) { return is_of_user(problem); });
    if (has_users_kernels) copies_.emplace([this](Channel& channel) { answer(channel); });
    for (unsigned i = 0; i < options_.threads; ++i)
      threads_.emplace_back([this] { work(); });
  }

  ~Impl() {
    ends_ = true;
    for (std::thread& thread : threads_)
      thread.join();
  }

  bool is_predicted(const Cell& cell) {
    const std::lock_guard lock(mutex_);
    return predictions_[cell.index].has_value();
  }

  bool is_of_user(const Cell& cell) const {
    return is_kernel_file(plan_.config->experiments[cell.experiment].family->id);
  }

  bool has_measured_ceilings() const { return plan_.ceiling_source.is_measured; }

  CodePrediction wait_for(const Cell& cell) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return predictions_[cell.index].has_value(); });
    return *predictions_[cell.index];
  }

 private:
  /// Cells with the same problem, in any mode, so that its buffers are created once.
  struct Problem {
    const Group* group = nullptr;
    std::vector<const Cell*> cells;
    double limit_us = 0;
  };

  /// Where a cell is in problems_.
  struct Place {
    std::size_t problem;
    std::size_t cell;
  };

  /// The buffers of a problem are created for the first cell without a stored prediction.
  struct Timed {
    std::optional<HostProblem> host;
    std::map<const Variant*, LaunchToTime> launches;
    KnownKernels known;
    bool lacks_code = false;    ///< a kernel's code is missing because a tool is missing or failed
    bool lacks_kernel = false;  ///< the time of a phase's kernel is missing, and a rate replaces it
    std::map<
        std::tuple<const Variant*, Mode, const void*, std::int64_t, std::int64_t, std::int64_t>,
        std::optional<KernelCodeTime>>
        kernels;

    void forget() {
      launches.clear();
      known = {};
      host.reset();
    }
  };

  /// What executes the cells of one problem after another.
  struct Execution {
    explicit Execution(const Impl& impl)
        : simulator(impl.kernels_, impl.plan_.device.compute_capability()) {
      simulator.threads = 1;  // other threads predict other problems
      simulator.uses_host_loops = true;
      simulator.find_code = [&impl, this](const KernelResource& known,
                                          int compute_capability) -> const KernelResource& {
        try {
          return impl.options_.find_code(known, compute_capability);
        } catch (const std::runtime_error&) {
          timed->lacks_code = true;
          throw;
        }
      };
    }

    sim::Simulator simulator;
    std::optional<Timed> timed;  ///< the current problem's buffers and launches
  };

  // With one or two threads, one thread predicts all variants of a problem and creates its buffers
  // once. With more threads, several threads share the variants of a problem, so that a slow
  // problem does not delay other problems. Problems with the largest lower bound on GPU time,
  // usually the slowest to simulate, start first.
  static std::vector<Problem> problems_of(const Plan& plan, const KernelResources& kernels,
                                          unsigned threads) {
    const std::size_t parts = threads > 2 ? threads : 1;
    std::vector<Problem> problems;
    std::map<std::tuple<const Family*, Values, std::size_t>, std::size_t> places;
    for (const Group& group : plan.groups) {
      const Family* const family = plan.experiment(group).family;
      for (const Cell& cell : group.cells) {
        if (!cell.skip_reason.empty()) continue;
        const auto variant = static_cast<std::size_t>(cell.variant - family->variants.data());
        const auto [place, is_new] =
            places.try_emplace({family, group.values, variant % parts}, problems.size());
        if (is_new) problems.push_back({&group, {}});
        Problem& problem = problems[place->second];
        problem.cells.push_back(&cell);
        if (const auto prediction = predict_cell(plan, group, cell, kernels))
          problem.limit_us += prediction->limit.time_us.value_or(0);
      }
    }
    std::ranges::stable_sort(problems, std::ranges::greater(), &Problem::limit_us);
    return problems;
  }

  bool is_ended() const { return ends_ || options_.interrupted(); }

  bool is_of_user(const Problem& problem) const {
    return is_kernel_file(plan_.experiment(*problem.group).family->id);
  }

  void work() {
    Execution here(*this);
    here.simulator.stop = [this] { return is_ended(); };
    std::unique_ptr<WorkerProcess> copy;
    for (std::size_t i = next_++; i < problems_.size(); i = next_++) {
      here.timed.emplace();
      for (std::size_t cell = 0; cell < problems_[i].cells.size(); ++cell)
        predict({i, cell}, here, copy);
    }
  }

  void predict(const Place& place, Execution& here, std::unique_ptr<WorkerProcess>& copy) {
    const Problem& problem = problems_[place.problem];
    const Cell& cell = *problem.cells[place.cell];
    const std::string key = key_of(problem, cell, inputs_of(*problem.group));
    std::optional<CodePrediction> prediction = store_.find(key);
    if (!prediction) {
      prediction = is_of_user(problem) ? predicted_in(copy, place) : predicted(place, here);
      if (is_ended()) prediction->is_settled = false;
      store_.keep(key, *prediction);
    }
    const std::lock_guard lock(mutex_);
    predictions_[cell.index] = std::move(prediction);
    changed_.notify_all();
  }

  /// Predicts in a copy of this process, which is started if necessary, so that no kernel of a user
  /// can end this process. The copy keeps the problem's buffers for the next cell.
  CodePrediction predicted_in(std::unique_ptr<WorkerProcess>& copy, const Place& place) {
    try {
      if (!copy) copy = copies_->start();
      copy->send(Json::array({place.problem, place.cell}).dump());
      const auto line =
          copy->receive(std::numeric_limits<double>::infinity(), [this] { return is_ended(); });
      if (line) return prediction_from(*line);
      copy.reset();
      return unsettled("the run was ended");
    } catch (const ChannelClosed&) {
      const std::string how = copy->end().how;
      copy.reset();
      return unsettled(fmt::format("the process that executed its kernels ended: {}", how));
    } catch (const std::system_error& error) {
      return unsettled(fmt::format("no process can be started: {}", error.what()));
    } catch (const JsonError& error) {
      copy.reset();
      return unsettled(fmt::format("the process that executed its kernels sent: {}", error.what()));
    }
  }

  /// Answers the requests of predicted_in(), in a copy of this process.
  void answer(Channel& channel) {
    Execution here(*this);
    for (std::size_t current = problems_.size();;) {
      const Json request = Json::parse(channel.receive());
      const Place place{request.at(0).get<std::size_t>(), request.at(1).get<std::size_t>()};
      if (place.problem != current) here.timed.emplace();
      current = place.problem;
      channel.send(line_of(predicted(place, here)));
    }
  }

  std::string key_of(const Problem& problem, const Cell& cell, const std::string& inputs) const {
    const Family& family = *plan_.experiment(*problem.group).family;
    return fmt::format("{}; {}/{},{}/{}{}{}", common_key_, family.id, cell.variant->id,
                       values_text(family, problem.group->values), name_of(cell.mode), inputs,
                       is_compiled(problem, cell) ? options_.tools : "") +
           loaded_code(problem, cell);
  }

  // Identifies files by content, because another file may have the same name. If a file cannot be
  // read, the prediction fails and is not stored.
  std::string inputs_of(const Group& group) const {
    const Family& family = *plan_.experiment(group).family;
    std::string text;
    try {
      for (const FileIdentity& file : planned_files(family, group.values))
        text += "; sha256 " + file.sha256;
    } catch (const InputError& error) {
      text += fmt::format("; {}", error.what());
    }
    return text;
  }

  // Identifies the machine code of users' kernels, which the build ID does not cover, and the text
  // of their declaration.
  std::string loaded_code(const Problem& problem, const Cell& cell) const {
    std::string text;
    for (const Shape& shape : cell.variant->shapes(problem.group->problem.get(), plan_.device)) {
      if (const LoadedKernel* const kernel = LoadedKernels::global().find(shape.kernel))
        text += "; code " + kernel->code(plan_.device.compute_capability()).hash;
    }
    return text;
  }

  // Whether tools must compile one of the cell's kernels for this GPU.
  bool is_compiled(const Problem& problem, const Cell& cell) const {
    const auto shapes = cell.variant->shapes(problem.group->problem.get(), plan_.device);
    return std::any_of(shapes.begin(), shapes.end(), [&](const Shape& shape) {
      const auto found = kernels_.find(shape.kernel, plan_.device.compute_capability());
      return found && !found->exact;
    });
  }

  static CodePrediction unsettled(const std::string& why) {
    CodePrediction prediction{{}, {}, why};
    prediction.is_settled = false;
    return prediction;
  }

  CodePrediction predicted(const Place& place, Execution& here) const {
    const Problem& problem = problems_[place.problem];
    const Cell& cell = *problem.cells[place.cell];
    Timed& timed = *here.timed;
    sim::Simulator& simulator = here.simulator;
    if (is_ended()) return unsettled("the run was ended");
    if (is_back_to_back(cell.mode) && cell.variant->timing == Timing::host_clock)
      return {{}, {}, "launches of several streams without gaps are not modelled"};
    if (cell.variant->phases) return from_phases(problem, cell, timed, simulator);
    if (cell.variant->is_vendor) return {{}, {}, "a library's kernels are not executed"};
    if (!cell.variant->without_time.empty()) return {{}, {}, cell.variant->without_time};
    try {
      make_host(problem, timed, simulator);
      const auto [launch, is_new] = timed.launches.try_emplace(cell.variant);
      if (is_new)
        launch->second = launch_to_time(*timed.host, *cell.variant, simulator, plan_.device,
                                        kernels_, &timed.known);
      const CodeTime time = predict_from_code(launch->second, simulator, cell.mode, plan_.device,
                                              plan_.ceiling_source.ceilings, &timed.known);
      if (timed.lacks_code && !time.refusal.empty()) return unsettled(time.refusal);
      if (!time.refusal.empty()) {
        CodePrediction none{{}, {}, time.refusal};
        none.has_faulted = time.has_faulted;
        return none;
      }
      return {time.total_us, time.terms, "", time.caches, time.timeline};
    } catch (const std::bad_alloc&) {
      timed.forget();
      return unsettled("not enough host memory for its buffers");
    } catch (const std::exception& e) {  // another thread waits for the cell
      timed.forget();
      return unsettled(e.what());
    }
  }

  void make_host(const Problem& problem, Timed& timed, sim::Simulator& simulator) const {
    if (timed.host) return;
    const Group& group = *problem.group;
    const Family& family = *plan_.experiment(group).family;
    // For a launch that spans GPUs, only single kernels are timed, independently of buffer
    // contents. So contents that only references read, such as a chain of layers, are not
    // generated.
    const auto made = family.make_problem(group.values);
    simulator.memory().set_cancels_overwritten(family.gpus_of(made.get()) > 1);
    timed.host.emplace(family, group.values, plan_.config->seed, plan_.device, simulator);
  }

  CodePrediction from_phases(const Problem& problem, const Cell& cell, Timed& timed,
                             sim::Simulator& simulator) const {
    const Group& group = *problem.group;
    const auto made = plan_.experiment(group).family->make_problem(group.values);
    std::vector<Phase> phases = cell.variant->phases(made.get(), plan_.device);
    for (Phase& phase : phases) {
      if (phase.kernel) set_kernel_time(phase, kernel_time(problem, cell, phase, timed, simulator));
    }
    const PhaseTime time =
        phase_time(phases, cell.mode, plan_.device, plan_.ceiling_source.ceilings);
    CodePrediction prediction{{}, {}, time.refusal};
    if (time.refusal.empty()) prediction = {time.total_us, time.terms, "", {}, time.timeline};
    prediction.is_settled = !timed.lacks_code && !timed.lacks_kernel;
    return prediction;
  }

  static void set_kernel_time(Phase& phase, const std::optional<KernelCodeTime>& kernel) {
    if (!kernel) return;
    phase.kernel_us = phase.kernel_time_factor * kernel->time_us;
    double busiest_us = 0;
    for (const auto& [resource, isolated_us] : kernel->isolated_us)
      busiest_us = std::max(busiest_us, isolated_us);
    phase.kernel_latency_us =
        phase.kernel_time_factor * std::max(0.0, kernel->time_us - busiest_us);
  }

  /// Time of the phase's kernel in isolation; empty if it cannot be predicted.
  std::optional<KernelCodeTime> kernel_time(const Problem& problem, const Cell& cell,
                                            const Phase& phase, Timed& timed,
                                            sim::Simulator& simulator) const {
    const Family& family = *plan_.experiment(*problem.group).family;
    const Variant* const variant =
        phase.kernel_of.empty() ? cell.variant : family.find(phase.kernel_of);
    const auto [known, is_new] = timed.kernels.try_emplace(
        {variant, cell.mode, phase.kernel, phase.grid.x, phase.grid.y, phase.grid.z});
    if (!is_new) return known->second;
    try {
      make_host(problem, timed, simulator);
      const LaunchToTime launch = kernel_to_time(*timed.host, *variant, phase.kernel, phase.grid,
                                                 simulator, plan_.device, kernels_);
      const CodeTime time = predict_from_code(launch, simulator, cell.mode, plan_.device,
                                              plan_.ceiling_source.ceilings);
      if (time.refusal.empty()) known->second = time.kernels.front();
    } catch (const std::exception&) {  // a rate replaces the time
      timed.lacks_kernel = true;
      timed.forget();
    }
    return known->second;
  }

  const Plan& plan_;
  const KernelResources& kernels_;
  CodePredictorOptions options_;
  PredictionStore store_;
  std::string common_key_;
  std::vector<Problem> problems_;
  std::optional<ProcessCopies> copies_;  ///< for kernels of users' files
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<CodePrediction>> predictions_;
  std::vector<std::thread> threads_;
};

CodePredictor::CodePredictor(const Plan& plan, const KernelResources& kernels,
                             const CodePredictorOptions& options)
    : impl_(std::make_unique<Impl>(plan, kernels, options)) {}

CodePredictor::~CodePredictor() = default;

bool CodePredictor::is_predicted(const Cell& cell) const {
  return !cell.skip_reason.empty() || impl_->is_predicted(cell);
}

void CodePredictor::refine(const Cell& cell, Prediction& prediction) {
  if (!cell.skip_reason.empty()) return;
  const CodePrediction from_code = impl_->wait_for(cell);
  prediction.why_no_time = from_code.why_not;
  prediction.has_faulted = from_code.has_faulted;
  if (!from_code.time_us) return;
  prediction.time_us = from_code.time_us;
  prediction.time_from = cell.variant->phases ? "phases" : "code";
  prediction.terms = from_code.terms;
  if (impl_->has_measured_ceilings())
    prediction.band = prediction_band(*from_code.time_us, from_code.terms,
                                      static_cast<bool>(cell.variant->phases));
  if (prediction.band && impl_->is_of_user(cell))
    prediction.band = band_of_own_kernel(*prediction.band);
  prediction.bound_by = from_code.terms.front().resource;
  prediction.timeline = from_code.timeline;
}

void CodePredictor::count_caches(const Cell& cell, LaunchCounts& counts) {
  const bool asks = std::any_of(counts.metrics.begin(), counts.metrics.end(),
                                [](const auto& metric) { return has_cache_part(metric); });
  if (asks && cell.skip_reason.empty()) add_cache_counts(counts, impl_->wait_for(cell).caches);
}

LaunchCounts CodePredictor::cache_counts(const Cell& cell,
                                         const std::vector<std::string>& metrics) {
  LaunchCounts counts;
  for (const std::string& metric : metrics) {
    if (cache_metric(metric)) counts.metrics.push_back(metric);
  }
  if (counts.metrics.empty() || !cell.skip_reason.empty()) return counts;
  const std::vector<CacheCounts> caches = impl_->wait_for(cell).caches;
  counts.kernels.assign(caches.size(), {"", std::vector<double>(counts.metrics.size())});
  add_cache_counts(counts, caches);
  return counts;
}

}  // namespace gpuexp
