#include "fake_rank.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/input_file.hpp"
#include "family/registry.hpp"
#include "support/fake_executor.hpp"
#include "support/toy_family.hpp"
#include "base/process.hpp"
#include "worker/serve.hpp"

namespace gpuexp::test {

namespace {

constexpr double kPatienceS = 1;

/// Fault "traced PATH": the rank writes its ranges and profiler calls to PATH.RANK, one per line.
constexpr const char* kTraced = "traced ";

/// Fault of a rank that is killed; the other ranks report a library error first.
constexpr const char* kMissed = "kill_missed";

class FileTracer final : public Tracer {
 public:
  FileTracer(int rank, const std::string& fault) {
    if (fault.rfind(kTraced, 0) != 0) return;
    file_.open(fmt::format("{}.{}", fault.substr(std::string(kTraced).size()), rank));
  }
  void push(const std::string& name) override { write("push " + name); }
  void pop() override { write("pop"); }
  void write(const std::string& line) { file_ << line << std::endl; }

 private:
  std::ofstream file_;
};

void read_files(const Family& family, const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!family.parameters[i].names_file(values[i])) continue;
    const auto& name = std::get<std::string>(values[i]);
    check_as_planned(name, identity_of(path_to_read(name)));
  }
}

class FakeRank final : public FakeExecutor, public RankMember {
 public:
  FakeRank(int rank, std::string suffers, FileTracer& tracer)
      : misses_(suffers == kMissed),
        fault_(rank == 1 ? std::move(suffers) : "none"),
        tracer_(tracer) {}

  void start_profiler() override { tracer_.write("start_profiler"); }
  void stop_profiler() override { tracer_.write("stop_profiler"); }

  void join(const RankPlace& place) override {
    if (fault_ == "late") std::this_thread::sleep_for(std::chrono::hours(1));
    others_.emplace(place, kPatienceS);
  }
  RankMember* rank_member() override { return this; }

  void set_up(const Family& family, const Values& values, std::uint64_t) override {
    read_files(family, values);
    spans_ = family.gpus_of(family.make_problem(values).get()) > 1;
    if (fault_ == "no_memory" && spans_) throw DeviceError("no memory", DeviceFault::refused);
  }

  void launch(const Variant& variant, Mode) override {
    if (fault_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (variant.id == "second") {
      if (fault_ == "kill_launch" || fault_ == kMissed) std::raise(SIGKILL);
      if (fault_ == "hang_launch") std::this_thread::sleep_for(std::chrono::hours(1));
    }
    if (!spans_) return;
    try {
      others_->all_gather("here");
    } catch (const DeviceError&) {
      if (!misses_) throw;
      throw DeviceError("remote process exited", DeviceFault::refused);
    }
  }

  // Each rank's own steps.
  SampleTraits warm_up(const Variant& variant, Mode mode, const WarmUp& most) override {
    SampleTraits traits = FakeExecutor::warm_up(variant, mode, most);
    const int rank = spans_ ? others_->place().rank : 0;
    traits.timeline = {{"kernel", 0, 0.0, 10.0 + rank}, {"copy", 1, 1.0, 2.0}};
    return traits;
  }

  Verification check(const Variant&, Mode) override {
    Verification v;
    v.elements = v.checked = 8;
    if (fault_ != "wrong") return v;
    v.wrong = 1;
    v.first_wrong.push_back({"y", 3, 1.0, 2.0, 0.0});
    return v;
  }

  // All ranks count together.
  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches, std::uint64_t,
                                  const std::vector<std::string>& metrics) override {
    std::vector<LaunchCounts> of_launches;
    for (const CountedLaunch& launch : launches) {
      read_files(*launch.family, launch.values);
      const bool spans =
          launch.family->gpus_of(launch.family->make_problem(launch.values).get()) > 1;
      if (spans) others_->all_gather("counted");
      const double rank = spans ? others_->place().rank : 0;
      of_launches.push_back({metrics, {{"kernel", {100.0 + rank}}}, 1});
    }
    return of_launches;
  }

  // Rank 1 is slower and starts 2 µs later.
  void sample(const std::vector<const Variant*>& sequence, Mode,
              const SampleTaken& taken) override {
    const int rank = spans_ ? others_->place().rank : 0;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      launch(*sequence[i], Mode::warm);
      Sample sample{10.0 + rank};
      sample.start_ns = 1'800'000'000'000'000'000 + 2000 * rank;
      taken(i, sample);
    }
  }

 private:
  bool misses_;  ///< reports a lost rank as a library error
  std::string fault_;
  FileTracer& tracer_;
  std::optional<RankExchange> others_;
  bool spans_ = false;
};

struct SpanProblem {
  std::int64_t n;
  int gpus;
};
struct SpanData {
  int rank;
  Ranks<const float> x;
  Ranks<float> y;
};

VariantOf<SpanProblem, SpanData> span_variant(const std::string& id) {
  VariantOf<SpanProblem, SpanData> v;
  v.id = id;
  v.why = "for tests";
  v.work = [](const SpanProblem& p) {
    Work w;
    w.to_peers = w.from_peers = 4.0 * static_cast<double>(p.n);
    return w;
  };
  v.launch = [](const SpanProblem&, const SpanData&, const LaunchContext&) { return Steps(); };
  return v;
}

Family span_family() {
  FamilyOf<SpanProblem, SpanData> f("toy_span", Topic::links, "Do ranks work together?");
  f.extent("n", &SpanProblem::n, 1024, 1 << 20, "elements")
      .spans(&SpanProblem::gpus, &SpanData::rank);
  f.input("x", &SpanData::x, [](const SpanProblem& p) { return p.n; });
  f.output("y", &SpanData::y, [](const SpanProblem& p) { return p.n; });
  f.outputs = [](const SpanProblem& p) { return Extent{p.n, 1, 1}; };
  f.tolerance = [](const SpanProblem&) { return Tolerance{}; };
  f.tolerance_derivation = "exact";
  f.variant(span_variant("first")).variant(span_variant("second")).variant(span_variant("third"));
  return f.build();
}

Family file_family() {
  Family f = toy_family();
  f.id = "toy_file";
  Parameter& width = f.parameters.at(2);
  width.choices.emplace_back("*.txt");
  width.file_error = [](const std::string&) { return ""; };
  return f;
}

}  // namespace

const Registry& spanning_registry() {
  static const Registry kRegistry = [] {
    Registry registry;
    registry.add(toy_family());
    registry.add(span_family());
    registry.add(file_family());
    return registry;
  }();
  return kRegistry;
}

void work_as_rank(int rank, const std::string& fault) {
  Channel channel(ChildProcess::kChannelDescriptor);
  try {
    channel.send("ready");
  } catch (const ChannelClosed&) {
    std::_Exit(0);  // the requesting process has ended
  }
  FileTracer tracer(rank, fault);
  serve(
      channel, spanning_registry(), [&] { return std::make_unique<FakeRank>(rank, fault, tracer); },
      tracer);
  std::_Exit(0);
}

}  // namespace gpuexp::test
