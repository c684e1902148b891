#include "simulated/host_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "run/compared_elements.hpp"

namespace gpuexp {

namespace {

// All bits set is NaN in every floating-point format, so unwritten elements fail verification.
constexpr int kPoison = 0xff;

constexpr std::int64_t kPart = 1 << 14;

// Operations of the references of a problem, of which one core executes 5·10^8 or more per second.
constexpr double kMaxSampleOperations = 5e8;
constexpr double kMaxWholeOperations = 4e11;
// The same for checks of kernel files, whose estimated operations are too high: about 5 s on one
// core of an AMD EPYC.
constexpr double kMaxWholeCheckOperations = 1.4e10;

double element(const Comparison& c, std::int64_t i) {
  const auto* const array = static_cast<const unsigned char*>(c.got);
  return to_double(array + static_cast<std::size_t>(i) * size_of(c.type), c.type);
}

std::vector<double> read_elements(const void* array, DataType type, std::int64_t first,
                                  std::int64_t count) {
  Comparison c{};
  c.got = array;
  c.type = type;
  std::vector<double> values;
  for (std::int64_t i = first; i < first + count; ++i)
    values.push_back(element(c, i));
  return values;
}

// The result is bitwise identical for any number of threads.
ComparisonSums sums_of(const Comparison& c, unsigned threads) {
  std::vector<ComparisonSums> of_parts(static_cast<std::size_t>((c.count + kPart - 1) / kPart));
  for_parts(threads, c.count, kPart, [&](std::int64_t first, std::int64_t end) {
    ComparisonSums& sums = of_parts[static_cast<std::size_t>(first / kPart)];
    for (std::int64_t i = first; i < end; ++i)
      sums = combined(sums, compared(element(c, i), c, i));
  });
  ComparisonSums sums;
  for (const ComparisonSums& part : of_parts)
    sums = combined(sums, part);
  return sums;
}

std::int64_t elements_of(const std::vector<ElementRange>& ranges) {
  std::int64_t elements = 0;
  for (const ElementRange& range : ranges)
    elements += std::max<std::int64_t>(range.end - range.first, 0);
  return elements;
}

std::vector<ElementRange> drawn(const std::vector<ElementRange>& ranges, const ElementDraw& draw) {
  constexpr std::int64_t kPiece = ElementDraw::kPiece;
  std::vector<ElementRange> pieces;
  for (const ElementRange& range : ranges) {
    for (std::int64_t first = range.first, end = 0; first < range.end; first = end) {
      end = std::min((first / kPiece + 1) * kPiece, range.end);
      if (draw.has(first)) pieces.push_back({first, end});
    }
  }
  return pieces;
}

}  // namespace

HostProblem::HostProblem(const Family& family, const Values& values, std::uint64_t seed,
                         const DeviceSpec& device, sim::Simulator& simulator)
    : family_(family),
      seed_(seed),
      device_(device),
      simulator_(simulator),
      problem_(family.make_problem(values)) {
  simulator_.clear_memory();
  ranks_.resize(static_cast<std::size_t>(family.gpus_of(problem_.get())));
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].number = static_cast<int>(r);
    allocate(ranks_[r]);
  }
  if (ranks_.size() > 1) {
    report_.emplace(sizeof(WaitReport));
    std::memset(report_->data(), 0, report_->bytes());
    simulator_.memory().add(report_->data(), report_->bytes(), "report", sim::Contents::written);
  }
  bind();
  make_inputs();
}

void HostProblem::allocate(Rank& rank) {
  for (std::size_t i = 0; i < family_.buffers.size(); ++i) {
    const Buffer& buffer = family_.buffers[i];
    const auto count = static_cast<std::size_t>(buffer.count(problem_.get()));
    const std::size_t element_bytes = size_of(buffer.type(problem_.get()));
    HostMemory& memory = rank.buffers.emplace_back(count * element_bytes);
    const bool is_state = buffer.role == BufferRole::state;
    if (is_state) std::memset(memory.data(), 0, memory.bytes());
    simulator_.memory().add(memory.data(), memory.bytes(), name_of(rank, i),
                            is_state ? sim::Contents::written : sim::Contents::poison,
                            element_bytes);
    if (buffer.role == BufferRole::input) simulator_.memory().set_constant(memory.data());
  }
}

void HostProblem::signal_ahead() {
  // Greater than the number of launches of any run, and positive as a signed integer.
  constexpr std::uint32_t kAhead = 0x3fffffff;
  for (Rank& rank : ranks_) {
    for (std::size_t i = 0; i < family_.buffers.size(); ++i) {
      if (!family_.buffers[i].flags_from) continue;
      HostMemory& memory = rank.buffers[i];
      const auto words = std::span(static_cast<std::uint32_t*>(memory.data()),
                                   memory.bytes() / sizeof(std::uint32_t));
      const auto told = words.begin() + *family_.buffers[i].flags_from;
      std::fill(words.begin(), told, 0);
      std::fill(told, words.end(), kAhead);
    }
  }
}

void HostProblem::bind() {
  std::vector<std::vector<void*>> pointers;
  for (const Rank& rank : ranks_) {
    std::vector<void*>& of_rank = pointers.emplace_back();
    for (const HostMemory& memory : rank.buffers)
      of_rank.push_back(memory.data());
  }
  for (Rank& rank : ranks_) {
    rank.data = family_.make_data(RankBuffers(rank.number, pointers));
    rank.references.emplace(family_, problem_.get(), rank.data.get(), simulator_);
  }
}

std::string HostProblem::name_of(const Rank& rank, std::size_t buffer) const {
  const std::string& name = family_.buffers[buffer].name;
  return ranks_.size() == 1 ? name : fmt::format("{} of rank {}", name, rank.number);
}

void HostProblem::poison(const Variant& variant) {
  simulator_.restore_variables();
  restore();
  const std::vector<std::size_t> outputs = compared_outputs(family_, variant);
  const double max_whole = family_.host_operations ? kMaxWholeCheckOperations : kMaxWholeOperations;
  draws_elements_ =
      sampling_ || affordable_host_share(family_, problem_.get(), variant, max_whole) < 1;
  if (!draws_elements_ && !family_.refers_to_results) {  // references do not depend on the launch
    simulator_.memory().make_all(simulator_.threads);
    for (Rank& rank : ranks_)
      rank.references->make(outputs);
    if (const std::string input = changed_input(); !input.empty())
      throw std::runtime_error(fmt::format("the reference wrote into input '{}'", input));
  }
  for (Rank& rank : ranks_) {
    for (const std::size_t i : poisoned_before(family_, variant))
      simulator_.memory().poison(rank.buffers[i].data(), rank.buffers[i].bytes());
  }
}

Steps HostProblem::steps(const Variant& variant, int rank) {
  restore();
  Rank& of = ranks_.at(static_cast<std::size_t>(rank));
  return variant.launch(problem_.get(), of.data.get(), context(of, variant));
}

std::vector<sim::KernelExecution> HostProblem::launch(const Variant& variant) {
  restore();
  for (const Rank& rank : ranks_) {
    for (const std::size_t output : compared_outputs(family_, variant)) {
      if (rank.buffers[output].bytes() > 0)
        simulator_.memory().find(rank.buffers[output].data())->follow_stores(sampling_.has_value());
    }
  }
  std::vector<sim::KernelExecution> kernels =
      ranks_.size() > 1 ? launch_ranks(variant)
                        : simulator_.run(variant.launch(problem_.get(), ranks_.front().data.get(),
                                                        context(ranks_.front(), variant)),
                                         sampling_);
  was_sampled_ = std::any_of(kernels.begin(), kernels.end(), [](const sim::KernelExecution& k) {
    return k.executed_blocks < k.blocks;
  });
  return kernels;
}

// Blocks may wait for blocks of other ranks, so ranks run concurrently. Only the first fault is
// reported: other ranks may have waited in vain for the faulty rank.
std::vector<sim::KernelExecution> HostProblem::launch_ranks(const Variant& variant) {
  std::vector<Steps> steps;
  for (Rank& rank : ranks_) {
    steps.push_back(variant.launch(problem_.get(), rank.data.get(), context(rank, variant)));
    // refusal() decodes the code before threads share the code.
    if (const std::string why = simulator_.refusal(steps.back()); !why.empty())
      throw std::runtime_error(why);
  }
  simulator_.memory().make_all(simulator_.threads);
  const unsigned threads = std::exchange(simulator_.threads, 1U);
  simulator_.memory().set_shared(true);
  std::vector<std::vector<sim::KernelExecution>> executions(ranks_.size());
  std::mutex mutex;
  std::exception_ptr fault;
  {
    std::vector<std::jthread> running;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      running.emplace_back([&, r] {
        try {
          if (before_launch) before_launch(static_cast<int>(r));
          executions[r] = simulator_.run(steps[r], sampling_);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!fault) fault = std::current_exception();
        }
      });
    }
  }
  simulator_.threads = threads;
  simulator_.memory().set_shared(false);
  simulator_.memory().settle();
  if (fault) std::rethrow_exception(fault);
  return std::move(executions.front());
}

Verification HostProblem::check(const Variant& variant) {
  Verification result;
  simulator_.memory().make_all(simulator_.threads);
  for (Rank& rank : ranks_)
    check(rank, variant, result);
  result.changed_input = changed_input();
  return result;
}

void HostProblem::check(Rank& rank, const Variant& variant, Verification& result) {
  if (draws_elements_) return check_sample(rank, variant, result);
  const std::vector<std::size_t> outputs = compared_outputs(family_, variant);
  for (const std::size_t output : outputs)
    poison_gaps(rank, output);
  if (family_.refers_to_results) {
    rank.references->forget();
    rank.references->make(outputs);
  }
  for (const std::size_t output : outputs)
    check_whole(rank, output, result);
}

std::span<const std::byte> HostProblem::buffer(std::size_t index) const {
  const HostMemory& memory = ranks_.front().buffers[index];
  simulator_.memory().make(memory.data(), memory.bytes());
  return {memory.data<std::byte>(), memory.bytes()};
}

const Buffer* HostProblem::buffer_at(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  for (const Rank& rank : ranks_) {
    for (std::size_t i = 0; i < rank.buffers.size(); ++i) {
      const auto* const begin = rank.buffers[i].data<std::byte>();
      if (byte >= begin && byte < begin + rank.buffers[i].bytes()) return &family_.buffers[i];
    }
  }
  return nullptr;
}

Residence HostProblem::residence_of(const void* address) const {
  const Buffer* const buffer = buffer_at(address);
  return buffer ? buffer->residence : Residence::device;
}

MetricValues HostProblem::measured_metrics(const Variant& variant) {
  if (!variant.measured_metrics) return {};
  const Measurement measurement = variant.measured_metrics(
      problem_.get(), ranks_.front().data.get(), context(ranks_.front(), variant));
  if (measurement.reads_clocks) return {};
  simulator_.run(measurement.steps);
  simulator_.memory().make_all(simulator_.threads);
  return measurement.values(measurement.from);
}

void HostProblem::make_inputs() {
  for (const Rank& rank : ranks_) {
    simulator_.fill(family_.inputs(problem_.get(), rank.data.get(), seed_));
    for (const HostMemory& buffer : rank.buffers) {
      if (buffer.bytes() > 0) simulator_.memory().find(buffer.data())->forget_stores();
    }
  }
}

void HostProblem::restore() {
  if (!family_.reset) return;
  for (const Rank& rank : ranks_)
    simulator_.fill(family_.reset(problem_.get(), rank.data.get()));
}

Comparison HostProblem::comparison_of(const Rank& rank, std::size_t output) const {
  const Buffer& buffer = family_.buffers[output];
  Comparison c = rank.references->comparison(output);
  c.got = rank.buffers[output].data();
  c.is_poisoned = buffer.role == BufferRole::output;
  c.tolerance =
      buffer.tolerance ? buffer.tolerance(problem_.get()) : family_.tolerance(problem_.get());
  return c;
}

void HostProblem::poison_gaps(Rank& rank, std::size_t output) {
  if (rank.buffers[output].bytes() == 0) return;
  std::size_t written = 0;
  const auto poison_to = [&](std::size_t first) {
    std::memset(rank.buffers[output].data<std::byte>() + written, kPoison, first - written);
  };
  simulator_.memory()
      .find(rank.buffers[output].data())
      ->for_written([&](std::size_t first, std::size_t end) {
        poison_to(first);
        written = end;
      });
  poison_to(rank.buffers[output].bytes());
}

std::optional<std::int64_t> HostProblem::first_unwritten(const Rank& rank,
                                                         std::size_t output) const {
  const HostMemory& memory = rank.buffers[output];
  std::size_t written = 0;  // bytes before the first gap
  simulator_.memory().find(memory.data())->for_written([&](std::size_t first, std::size_t end) {
    if (first == written) written = end;
  });
  if (written >= memory.bytes()) return std::nullopt;
  const std::size_t size = size_of(family_.buffers[output].type(problem_.get()));
  return static_cast<std::int64_t>(written / size);
}

void HostProblem::check_whole(Rank& rank, std::size_t output, Verification& result) {
  const Comparison c = comparison_of(rank, output);
  if (c.count == 0) return;
  const std::string name = name_of(rank, output);
  add_output(
      name, c, sums_of(c, simulator_.threads),
      [&](std::int64_t first) { return mismatches(name, c, first, read_elements); }, result);
}

// Reads the written elements first, because restore() may overwrite them.
void HostProblem::check_sample(Rank& rank, const Variant& variant, Verification& result) {
  const std::vector<std::size_t> outputs = compared_outputs(family_, variant);
  const double share =
      affordable_host_share(family_, problem_.get(), variant, kMaxSampleOperations);
  std::vector<Sample> samples;
  for (const std::size_t output : outputs)
    samples.push_back(sample_of(rank, output, share));
  if (family_.refers_to_results) {
    rank.references->forget();
  } else {
    restore();
  }
  simulator_.memory().make_all(simulator_.threads);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!rank.references->make(outputs[i], samples[i].ranges)) rank.references->make({outputs[i]});
    check_elements(rank, outputs[i], samples[i], result);
  }
}

// Elements to compare: all, or if only some blocks were executed, the elements that they stored.
std::vector<ElementRange> HostProblem::stored_ranges(Rank& rank, std::size_t output) {
  const Buffer& buffer = family_.buffers[output];
  if (!was_sampled_) {
    poison_gaps(rank, output);
    return {{0, buffer.count(problem_.get())}};
  }
  const std::size_t size = size_of(buffer.type(problem_.get()));
  std::vector<ElementRange> ranges;
  simulator_.memory()
      .find(rank.buffers[output].data())
      ->for_stored([&](std::size_t first, std::size_t end) {
        ranges.push_back({static_cast<std::int64_t>((first + size - 1) / size),
                          static_cast<std::int64_t>(end / size)});
      });
  return ranges;
}

// If no block has written to the output, the sample is one wrong element.
HostProblem::Sample HostProblem::sample_of(Rank& rank, std::size_t output, double share) {
  Sample sample;
  const DataType type = family_.buffers[output].type(problem_.get());
  const std::int64_t count = family_.buffers[output].count(problem_.get());
  if (count == 0) return sample;
  const std::vector<ElementRange> stored = stored_ranges(rank, output);
  const ElementDraw draw = affordable_draw(share, count, elements_of(stored), seed_);
  sample.ranges = drawn(stored, draw);
  // A random sample may miss it, and no value of an integer shows it.
  if (const auto missing = was_sampled_ ? std::nullopt : first_unwritten(rank, output);
      missing && !draw.has(*missing)) {
    const auto next = std::ranges::upper_bound(sample.ranges, *missing, {}, &ElementRange::first);
    sample.ranges.insert(next, {*missing, *missing + 1});
  }
  for (const ElementRange& range : sample.ranges)
    sample.got.push_back(
        read_elements(rank.buffers[output].data(), type, range.first, range.end - range.first));
  if (sample.ranges.empty()) {
    sample.ranges.push_back({0, 1});
    sample.got.push_back({unit_roundoff(type) > 0 ? poisoned_element(type) : std::nan("")});
  }
  return sample;
}

void HostProblem::check_elements(Rank& rank, std::size_t output, const Sample& sample,
                                 Verification& result) {
  const Comparison c = comparison_of(rank, output);
  const std::string name = name_of(rank, output);
  ComparisonSums sums;
  std::vector<Mismatch> wrong;
  for (std::size_t r = 0; r < sample.ranges.size(); ++r) {
    std::int64_t i = sample.ranges[r].first;
    for (const double got : sample.got[r]) {
      const ComparisonSums one = compared(got, c, i);
      sums = combined(sums, one);
      const bool is_first_without_value =
          sums.first_without_value == static_cast<unsigned long long>(i);
      if (one.wrong > 0 && (wrong.size() < kMaxMismatches || is_first_without_value))
        wrong.push_back(mismatch_of(name, c, i, c.value[i], got,
                                    c.tolerance.absolute + c.tolerance.relative * c.magnitude[i]));
      ++i;
    }
  }
  if (sums.checked > 0)
    add_output(
        name, c, sums,
        [&](std::int64_t first) {
          const auto from = std::ranges::find(wrong, first, &Mismatch::index);
          return std::vector<Mismatch>(from, wrong.end());
        },
        result);
}

// Compares only inputs to which a kernel stored; a store may leave the value unchanged.
std::string HostProblem::changed_input() {
  struct Input {
    const Rank& rank;
    std::size_t buffer;
    std::size_t fingerprint() const {
      const HostMemory& memory = rank.buffers[buffer];
      return std::hash<std::string_view>{}({memory.data<char>(), memory.bytes()});
    }
  };
  std::vector<Input> stored_to;
  for (const Rank& rank : ranks_) {
    for (std::size_t i = 0; i < rank.buffers.size(); ++i) {
      if (family_.buffers[i].role == BufferRole::input && rank.buffers[i].bytes() > 0 &&
          simulator_.memory().find(rank.buffers[i].data())->is_stored_to())
        stored_to.push_back({rank, i});
    }
  }
  if (stored_to.empty()) return "";
  simulator_.memory().make_all(simulator_.threads);
  std::vector<std::size_t> found;
  for (const Input& input : stored_to)
    found.push_back(input.fingerprint());
  make_inputs();
  simulator_.memory().make_all(simulator_.threads);
  for (std::size_t k = 0; k < stored_to.size(); ++k) {
    if (stored_to[k].fingerprint() != found[k])
      return name_of(stored_to[k].rank, stored_to[k].buffer);
  }
  return "";
}

LaunchContext HostProblem::context(Rank& rank, const Variant& variant) {
  auto* const report = report_ ? report_->data<WaitReport>() : nullptr;
  if (!variant.workspace_bytes) return {device_, nullptr, report};
  const auto found = std::find_if(rank.workspaces.begin(), rank.workspaces.end(),
                                  [&](const auto& entry) { return entry.first == &variant; });
  if (found != rank.workspaces.end()) return {device_, found->second.data(), report};
  const auto bytes = static_cast<std::size_t>(variant.workspace_bytes(problem_.get(), device_));
  const HostMemory& memory = rank.workspaces.emplace_back(&variant, HostMemory(bytes)).second;
  simulator_.memory().add(memory.data(), memory.bytes(), "workspace", sim::Contents::poison);
  return {device_, memory.data(), report};
}

}  // namespace gpuexp
