#include "worker/serve.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "family/function_text.hpp"
#include "family/registry.hpp"
#include "run/host_refusal.hpp"
#include "worker/wire.hpp"

namespace gpuexp {

namespace {

class Server {
 public:
  Server(Channel& channel, const Registry& registry, Executor& executor, Tracer& tracer)
      : channel_(channel),
        registry_(registry),
        executor_(executor),
        tracer_(tracer),
        timer_(executor.timer()),
        counter_reader_(*executor.counter_reader()),
        source_counter_reader_(executor.source_counter_reader()) {}

  Json answer(const Json& request) {
    const auto call = request.at("call").get<std::string>();
    if (call == "set_up") return set_up(request);
    if (call == "join") return join(request);
    if (call == "start_profiler") return executor_.profiler()->start_profiler(), nullptr;
    if (call == "stop_profiler") return executor_.profiler()->stop_profiler(), nullptr;
    if (call == "sample") return sample(request);
    if (call == "sustain")
      return timer_->sustain(sequence_of(request), mode_of(request),
                             request.at("seconds").get<double>()),
             nullptr;
    if (call == "start_clock") return timer_->start_clock(), nullptr;
    if (call == "sm_clock") return listed_json(timer_->sm_clock());
    if (call == "sample_floor")
      return timer_->sample_floor(mode_of(request), request.at("samples").get<int>());
    if (call == "counter_support")
      return listed_json(
          counter_reader_.counter_support(request.at("metrics").get<std::vector<std::string>>()));
    if (call == "count") return count(request);
    if (call == "count_source") return count_source(request);
    const Variant& variant = variant_of(request.at("variant"));
    if (call == "measured_metrics") return listed_json(executor_.measured_metrics(variant));
    const Mode mode = mode_of(request);
    const PhaseRange range(tracer_, launch_name(variant, mode), phase_of(call, mode));
    if (call == "poison") return executor_.poison(variant, mode), nullptr;
    if (call == "launch") return executor_.launch(variant, mode), nullptr;
    if (call == "check") return listed_json(executor_.check(variant, mode));
    if (call == "sample_from_first")
      return listed_json(
          timer_->sample_from_first(variant, mode, request.at("launches").get<int>(), sender()));
    if (call == "warm_up")
      return listed_json(timer_->warm_up(
          variant, mode,
          {request.at("launches").get<std::size_t>(), request.at("seconds").get<double>()}));
    throw std::invalid_argument("no call is named " + call);
  }

 private:
  static Mode mode_of(const Json& request) { return wire::mode_from(request.at("mode")); }

  static const char* phase_of(const std::string& call, Mode mode) {
    if (call == "warm_up") return "warm-up";
    const bool is_profiled = call == "launch" && mode == Mode::profile;
    return is_profiled || call == "sample_from_first" ? "measure" : "verify";
  }

  std::string launch_name(const Variant& variant, Mode mode) const {
    return fmt::format("rank {} {}/{}/{}/{}", rank_, family_->id, variant.id,
                       values_text(*family_, values_), name_of(mode));
  }

  const Variant& variant_of(const Json& id) const {
    const Variant* variant = family_ ? family_->find(id.get<std::string>()) : nullptr;
    if (!variant) throw std::invalid_argument("no variant is called " + id.dump());
    return *variant;
  }

  Json set_up(const Json& request) {
    const Family* family = registry_.find(request.at("family").get<std::string>());
    if (!family) throw std::invalid_argument("no family is called " + request.at("family").dump());
    family_ = family;
    values_ = wire::values_from(request.at("values"));
    executor_.set_up(*family, values_, request.at("seed").get<std::uint64_t>());
    return nullptr;
  }

  Json join(const Json& request) {
    RankMember* const member = executor_.rank_member();
    if (!member)
      throw DeviceError("its executor cannot share a problem with others", DeviceFault::refused);
    rank_ = request.at("rank").get<int>();
    member->join({rank_, request.at("ranks").get<int>(), request.at("meeting").get<std::string>()});
    return nullptr;
  }

  Json count(const Json& request) {
    std::vector<CountedLaunch> launches;
    for (const Json& launch : request.at("launches"))
      launches.push_back(wire::counted_launch_from(launch, registry_));
    return listed_json(
        counter_reader_.count(launches, request.at("seed").get<std::uint64_t>(),
                              request.at("metrics").get<std::vector<std::string>>()));
  }

  Json count_source(const Json& request) {
    return listed_json(source_counter_reader_->count_source(
        wire::counted_launch_from(request.at("launch"), registry_),
        request.at("seed").get<std::uint64_t>(), request.at("kernel").get<std::size_t>()));
  }

  std::vector<const Variant*> sequence_of(const Json& request) const {
    std::vector<const Variant*> sequence;
    for (const Json& id : request.at("sequence"))
      sequence.push_back(&variant_of(id));
    return sequence;
  }

  Json sample(const Json& request) {
    const auto sequence = sequence_of(request);
    const Mode mode = mode_of(request);
    std::optional<PhaseRange> range;
    const auto enter = [&](std::size_t place) {
      range.reset();
      if (place < sequence.size())
        range.emplace(tracer_, launch_name(*sequence[place], mode), "measure");
    };
    enter(0);
    timer_->sample(sequence, mode, [&, send = sender()](std::size_t place, const Sample& sample) {
      send(place, sample);
      enter(place + 1);
    });
    return nullptr;
  }

  SampleTaken sender() {
    return [this](std::size_t, const Sample& sample) { channel_.send(listed_json(sample).dump()); };
  }

  Channel& channel_;
  const Registry& registry_;
  Executor& executor_;
  Tracer& tracer_;
  LaunchTimer* timer_;
  CounterReader& counter_reader_;
  SourceCounterReader* source_counter_reader_;
  const Family* family_ = nullptr;
  Values values_;
  int rank_ = 0;
};

void answer_failure(Channel& channel, const DeviceError& error) {
  channel.receive();
  channel.send(Json{{"error", wire::to_json(error)}}.dump());
}

void serve_requests(Channel& channel, Server server) {
  for (;;) {
    const Json request = Json::parse(channel.receive());
    try {
      const Json done = with_host_refusals([&] { return server.answer(request); });
      channel.send(Json{{"done", done}}.dump());
    } catch (const DeviceError& error) {
      channel.send(Json{{"error", wire::to_json(error)}}.dump());
      if (error.device_lost()) return;
    }
  }
}

}  // namespace

void serve(Channel& channel, const Registry& registry,
           const std::function<std::unique_ptr<Executor>()>& make_executor, Tracer& tracer) {
  try {
    std::unique_ptr<Executor> executor;
    try {
      executor = make_executor();
    } catch (const DeviceError& error) {
      answer_failure(channel, DeviceError(error.what(), DeviceFault::lost));
      return;
    }
    serve_requests(channel, Server(channel, registry, *executor, tracer));
  } catch (const ChannelClosed&) {
  }
}

}  // namespace gpuexp
