#include "simulated/host_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>

#include "base/parallel.hpp"
#include "run/compared_elements.hpp"

namespace gpuexp {

namespace {

// All bits set is NaN in every floating-point format, so an element that nobody wrote cannot pass.
constexpr int kPoison = 0xff;

// Elements that one thread takes at a time.
constexpr std::int64_t kPart = 1 << 14;

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

// The same, bit by bit, however many threads there are.
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

// What is drawn of them, in parts that threads can share.
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
  simulator_.memory().clear();
  std::vector<void*> pointers;
  for (const Buffer& buffer : family.buffers) {
    const auto count = static_cast<std::size_t>(buffer.count(problem_.get()));
    const HostMemory& memory = buffers_.emplace_back(count * size_of(buffer.type(problem_.get())));
    simulator_.memory().add(memory.data(), memory.bytes(), buffer.name, sim::Contents::poison);
    pointers.push_back(memory.data());
  }
  data_ = family.make_data(pointers);
  references_.emplace(family, problem_.get(), data_.get(), simulator);
  make_inputs();
}

void HostProblem::poison(const Variant& variant) {
  restore();
  if (!sampling_ && !family_.refers_to_results) {  // from what launches find
    simulator_.memory().make_all(simulator_.threads);
    references_->make(written_by(family_, variant));
  }
  for (const std::size_t output : written_by(family_, variant))
    simulator_.memory().poison(buffers_[output].data(), buffers_[output].bytes());
}

Steps HostProblem::steps(const Variant& variant) {
  restore();
  return variant.launch(problem_.get(), data_.get(), context(variant));
}

std::vector<sim::KernelExecution> HostProblem::launch(const Variant& variant) {
  restore();
  for (const std::size_t output : written_by(family_, variant)) {
    if (buffers_[output].bytes() > 0)
      simulator_.memory().find(buffers_[output].data())->follow_stores(sampling_.has_value());
  }
  std::vector<sim::KernelExecution> kernels =
      simulator_.run(variant.launch(problem_.get(), data_.get(), context(variant)), sampling_);
  was_sampled_ = std::any_of(kernels.begin(), kernels.end(), [](const sim::KernelExecution& k) {
    return k.executed_blocks < k.blocks;
  });
  return kernels;
}

Verification HostProblem::check(const Variant& variant) {
  Verification result;
  if (sampling_) {
    check_sample(variant, result);
  } else {
    const std::vector<std::size_t> outputs = written_by(family_, variant);
    for (const std::size_t output : outputs)
      poison_gaps(output);
    if (family_.refers_to_results) {
      references_->forget();
      simulator_.memory().make_all(simulator_.threads);
      references_->make(outputs);
    }
    for (const std::size_t output : outputs)
      check_whole(output, result);
  }
  result.changed_input = changed_input();
  return result;
}

std::span<const std::byte> HostProblem::buffer(std::size_t index) const {
  simulator_.memory().make(buffers_[index].data(), buffers_[index].bytes());
  return {buffers_[index].data<std::byte>(), buffers_[index].bytes()};
}

Residence HostProblem::residence_of(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const auto* const begin = buffers_[i].data<std::byte>();
    if (byte >= begin && byte < begin + buffers_[i].bytes()) return family_.buffers[i].residence;
  }
  return Residence::device;
}

MetricValues HostProblem::measured_metrics(const Variant& variant) {
  if (!variant.measured_metrics) return {};
  const Measurement measurement =
      variant.measured_metrics(problem_.get(), data_.get(), context(variant));
  if (measurement.reads_clocks) return {};
  simulator_.run(measurement.steps);
  return measurement.values(measurement.from);
}

void HostProblem::make_inputs() {
  simulator_.fill(family_.inputs(problem_.get(), data_.get(), seed_));
  for (const HostMemory& buffer : buffers_) {
    if (buffer.bytes() > 0) simulator_.memory().find(buffer.data())->forget_stores();
  }
}

void HostProblem::restore() {
  if (family_.reset) simulator_.run(family_.reset(problem_.get(), data_.get()));
}

Comparison HostProblem::comparison_of(std::size_t output) const {
  const Buffer& buffer = family_.buffers[output];
  Comparison c = references_->comparison(output);
  c.got = buffers_[output].data();
  c.tolerance =
      buffer.tolerance ? buffer.tolerance(problem_.get()) : family_.tolerance(problem_.get());
  return c;
}

// Of an output whose every element should have been written.
void HostProblem::poison_gaps(std::size_t output) {
  if (buffers_[output].bytes() == 0) return;
  std::size_t written = 0;  // up to here
  const auto poison_to = [&](std::size_t first) {
    std::memset(buffers_[output].data<std::byte>() + written, kPoison, first - written);
  };
  simulator_.memory()
      .find(buffers_[output].data())
      ->for_written([&](std::size_t first, std::size_t end) {
        poison_to(first);
        written = end;
      });
  poison_to(buffers_[output].bytes());
}

void HostProblem::check_whole(std::size_t output, Verification& result) {
  const Comparison c = comparison_of(output);
  if (c.count == 0) return;
  const std::string& name = family_.buffers[output].name;
  add_output(
      name, c, sums_of(c, simulator_.threads),
      [&](std::int64_t first) { return mismatches(name, c, first, read_elements); }, result);
}

// What was written is read first: references may be made from what launches find in its place.
void HostProblem::check_sample(const Variant& variant, Verification& result) {
  constexpr double kMostOperations = 5e8;  // about a second
  const std::vector<std::size_t> outputs = written_by(family_, variant);
  const double share = affordable_share(family_, problem_.get(), variant, kMostOperations);
  std::vector<Sample> samples;
  for (const std::size_t output : outputs)
    samples.push_back(sample_of(output, share));
  if (family_.refers_to_results) {
    references_->forget();
  } else {
    restore();
  }
  simulator_.memory().make_all(simulator_.threads);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!references_->make(outputs[i], samples[i].ranges)) references_->make({outputs[i]});
    check_elements(outputs[i], samples[i], result);
  }
}

// What the last launch should have written: where some of its blocks were executed, what those
// did.
std::vector<ElementRange> HostProblem::stored_ranges(std::size_t output) {
  const Buffer& buffer = family_.buffers[output];
  if (!was_sampled_) {
    poison_gaps(output);
    return {{0, buffer.count(problem_.get())}};
  }
  const std::size_t size = size_of(buffer.type(problem_.get()));
  std::vector<ElementRange> ranges;
  simulator_.memory()
      .find(buffers_[output].data())
      ->for_stored([&](std::size_t first, std::size_t end) {
        ranges.push_back({static_cast<std::int64_t>((first + size - 1) / size),
                          static_cast<std::int64_t>(end / size)});
      });
  return ranges;
}

// An output that no block has written to has an element that is wrong.
HostProblem::Sample HostProblem::sample_of(std::size_t output, double share) {
  Sample sample;
  const DataType type = family_.buffers[output].type(problem_.get());
  const std::int64_t count = family_.buffers[output].count(problem_.get());
  if (count == 0) return sample;
  const std::vector<ElementRange> stored = stored_ranges(output);
  sample.ranges = drawn(stored, affordable_draw(share, count, elements_of(stored), seed_));
  for (const ElementRange& range : sample.ranges)
    sample.got.push_back(
        read_elements(buffers_[output].data(), type, range.first, range.end - range.first));
  if (sample.ranges.empty()) {
    sample.ranges.push_back({0, 1});
    sample.got.push_back({std::nan("")});
  }
  return sample;
}

void HostProblem::check_elements(std::size_t output, const Sample& sample, Verification& result) {
  const Comparison c = comparison_of(output);
  const std::string& name = family_.buffers[output].name;
  ComparisonSums sums;
  std::vector<Mismatch> wrong;
  for (std::size_t r = 0; r < sample.ranges.size(); ++r) {
    std::int64_t i = sample.ranges[r].first;
    for (const double got : sample.got[r]) {
      const ComparisonSums one = compared(got, c, i);
      sums = combined(sums, one);
      if (one.wrong > 0 && wrong.size() < kMostMismatches)
        wrong.push_back({name, i, c.value[i], got,
                         c.tolerance.absolute + c.tolerance.relative * c.magnitude[i]});
      ++i;
    }
  }
  if (sums.checked > 0)
    add_output(
        name, c, sums, [&](std::int64_t) { return wrong; }, result);
}

// Stores may leave an input as it was: what it should be is made anew, where there were any.
std::string HostProblem::changed_input() {
  std::vector<std::size_t> stored_to;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (family_.buffers[i].role == BufferRole::input && buffers_[i].bytes() > 0 &&
        simulator_.memory().find(buffers_[i].data())->is_stored_to())
      stored_to.push_back(i);
  }
  if (stored_to.empty()) return "";
  const auto fingerprint = [&](std::size_t i) {
    return std::hash<std::string_view>{}({buffers_[i].data<char>(), buffers_[i].bytes()});
  };
  simulator_.memory().make_all(simulator_.threads);
  std::vector<std::size_t> found;
  for (const std::size_t i : stored_to)
    found.push_back(fingerprint(i));
  make_inputs();
  simulator_.memory().make_all(simulator_.threads);
  for (std::size_t k = 0; k < stored_to.size(); ++k) {
    if (fingerprint(stored_to[k]) != found[k]) return family_.buffers[stored_to[k]].name;
  }
  return "";
}

LaunchContext HostProblem::context(const Variant& variant) {
  if (!variant.workspace_bytes) return {device_, nullptr};
  const auto found = std::find_if(workspaces_.begin(), workspaces_.end(),
                                  [&](const auto& entry) { return entry.first == &variant; });
  if (found != workspaces_.end()) return {device_, found->second.data()};
  const auto bytes = static_cast<std::size_t>(variant.workspace_bytes(problem_.get(), device_));
  const HostMemory& memory = workspaces_.emplace_back(&variant, HostMemory(bytes)).second;
  simulator_.memory().add(memory.data(), memory.bytes(), "workspace", sim::Contents::poison);
  return {device_, memory.data()};
}

}  // namespace gpuexp
