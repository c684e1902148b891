#include "render/bound_text.hpp"

#include <fmt/format.h>

#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

struct ResourceWords {
  const char* name;
  const char* amount;  ///< unit, written after the number
};

ResourceWords words_for(Resource resource) {
  switch (resource) {
    case Resource::dram: return {"DRAM", "B"};
    case Resource::l2: return {"L2", "B"};
    case Resource::l1_data: return {"L1's data stage", "wavefronts"};
    case Resource::l1_tags: return {"L1's tag stage", "wavefronts"};
    case Resource::issue: return {"the issue slots", "warp instructions"};
    case Resource::fma: return {"the FMA pipes", "instructions"};
    case Resource::alu: return {"the ALU pipe", "instructions"};
    case Resource::fp64: return {"the fp64 pipe", "instructions"};
    case Resource::xu: return {"the transcendental unit", "instructions"};
    case Resource::operations: return {"the arithmetic pipes", "operations"};
    case Resource::blocks: return {"the start of blocks", "blocks"};
  }
  return {"", ""};
}

// "137 G operations at 633 TFLOP/s". The rate is shown, because variants may use different pipes.
std::string operations_fragment(const LeastTime& least, const LeastTimes& times) {
  constexpr double kPerMicro = 1e6;
  const double on_all_sms = kPerMicro * least.amount / (least.time_us * times.sm_share);
  return fmt::format("{} operations at {}", quantity_fragment(least.amount, ""),
                     quantity_fragment(on_all_sms, "FLOP/s"));
}

// True if the amount is written as 1, which needs a singular noun and verb.
bool is_one(const LeastTime& least) {
  return least.amount == 1 && least.resource != Resource::dram && least.resource != Resource::l2;
}

std::string amount_fragment(const LeastTime& least) {
  std::string words = words_for(least.resource).amount;
  if (is_one(least)) words.pop_back();
  if (least.resource == Resource::dram) return quantity_fragment(least.amount, words);
  if (least.resource == Resource::l2) return quantity_fragment(kSectorBytes * least.amount, words);
  return fmt::format("{} {}", quantity_fragment(least.amount, ""), words);
}

// "32 blocks leave 100 of 132 SMs idle", or the share of busy SMs according to the last wave or the
// counted cycles.
std::string idle_fragment(const ResultRecord& row, const LeastTimes& times) {
  constexpr double kWhole = 100;
  const std::string share = fmt::format("{} %", percent_fragment(kWhole * times.sm_share));
  const auto of_cycles = fmt::format("SMs have work for {} of the cycles", share);
  if (!row.grid_blocks || !times.sm_count) return of_cycles;
  const auto blocks = static_cast<double>(*row.grid_blocks);
  const std::string sms = number_fragment(*times.sm_count);
  const std::string grid = number_fragment(blocks) + ' ' + noun_for(blocks, "block");
  if (blocks < *times.sm_count)
    return fmt::format("{} {} {} of {} SMs idle", grid, noun_for(blocks, "leaves", "leave"),
                       number_fragment(*times.sm_count - blocks), sms);
  if (times.sm_share_from != SmShareFrom::grid) return of_cycles;
  return fmt::format("{} on {} SMs fill {} of their waves", grid, sms, share);
}

std::string launch_fragment(const ResultRecord& row, const LeastTimes& times) {
  constexpr double kMuch = 0.2;
  if (times.launch_us < kMuch * *row.time_us()) return "";
  if (times.kernels <= 1)
    return fmt::format(", of which the launch takes {}", time_text(times.launch_us));
  return fmt::format(", of which {} launches take {}", number_fragment(times.kernels),
                     time_text(times.launch_us));
}

// "; each kernel at its own limit, all take 7.900 ms"
std::string chain_fragment(const Bound& bound) {
  if (!bound.times.is_shared()) return "";
  return fmt::format("; each kernel at its own limit, all take {}",
                     time_text(bound.times.needed_us()));
}

// "151 M warp instructions take 145 µs of 175 µs, as 32 blocks leave 100 of 132 SMs idle"
std::string least_fragment(const ResultRecord& row, const Bound& bound) {
  constexpr double kMaxBusyShare = 0.9;
  const LeastTime& longest = *bound.longest;
  const std::string amount = longest.resource == Resource::operations
                                 ? operations_fragment(longest, bound.times)
                                 : amount_fragment(longest);
  const bool is_all = longest.time_us >= *row.time_us();
  const char* verb = is_one(longest) ? "takes" : "take";
  std::string text = is_all ? fmt::format("{} {} all of {}", amount, verb, time_fragment(row))
                            : fmt::format("{} {} {} of {}", amount, verb,
                                          time_text(longest.time_us), time_fragment(row));
  text += launch_fragment(row, bound.times);
  if (is_of_sms(longest.resource) && bound.times.sm_share < kMaxBusyShare)
    text += fmt::format(", as {}", idle_fragment(row, bound.times));
  return text + chain_fragment(bound);
}

}  // namespace

std::string resource_fragment(Resource resource, const LeastTimes& times) {
  if (resource != Resource::operations) return words_for(resource).name;
  const std::string& pipe = times.operations_on;
  return pipe.starts_with("tensor") ? fmt::format("the tensor cores ({})", pipe)
                                    : fmt::format("the {} pipes", pipe);
}

namespace {

std::string bound_fragment(const ResultRecord& row, const Bound& bound) {
  constexpr double kWhole = 100;
  const std::string resource = resource_fragment(bound.longest->resource, bound.times);
  const std::string least = least_fragment(row, bound);
  if (bound.share >= kNearRate)
    return fmt::format("{} is bound by {}: {}", row.variant, resource, least);
  if ((bound.times.is_shared() ? bound.needed_share : bound.share) >= kBoundShare)
    return fmt::format("{} needs {} most: {}", row.variant, resource, least);
  const std::string share =
      bound.share > 0 ? fmt::format(" at {} %", percent_fragment(kWhole * bound.share)) : "";
  return fmt::format("{} is near no rate; the nearest is {}{}: {}", row.variant, resource, share,
                     least);
}

}  // namespace

std::string bounds_sentence(const Explanation& e) {
  if (!e.bound || !e.reference_bound || (e.misfit && e.cause == Cause::unknown)) return "";
  const std::string row = bound_fragment(e.row(), *e.bound);
  const std::string reference = bound_fragment(e.reference(), *e.reference_bound);
  return e.row_is_slower() ? fmt::format("At the device's rates {}; {}.", row, reference)
                           : fmt::format("At the device's rates {}; {}.", reference, row);
}

std::string misfit_sentence(const Explanation& e) {
  if (!e.misfit) return "";
  const LeastTime& amount = e.misfit->amount;
  const ResultRecord& row = e.misfit->is_of_row ? e.row() : e.reference();
  const bool is_dram = amount.resource == Resource::dram;
  return fmt::format(
      "{}: {} of {} would take {} {}, and its time less the launch is {}; they were "
      "counted in another state than was timed.",
      is_dram ? "The DRAM counters do not fit the timed launch and are left out"
              : "The counters do not fit the timed launch, and nothing is explained from them",
      amount_fragment(amount), row.variant, words_for(amount.resource).name,
      time_text(amount.time_us), time_text(e.misfit->rest_us));
}

}  // namespace gpuexp
