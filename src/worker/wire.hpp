// The protocol between RemoteExecutor and worker, in JSON. A request is one line. Its answer is any
// number of lines with samples, then a line with "done" or "error".
#pragma once

#include "base/input_file.hpp"
#include "family/listed_timeline.hpp"
#include "family/registry.hpp"
#include "run/executor.hpp"

namespace gpuexp {

template <>
inline constexpr std::tuple kListedMembers<FileIdentity>{
    &FileIdentity::name, &FileIdentity::path, &FileIdentity::bytes, &FileIdentity::sha256};
template <>
inline constexpr std::tuple kListedMembers<Mismatch>{&Mismatch::buffer,   &Mismatch::index,
                                                     &Mismatch::expected, &Mismatch::got,
                                                     &Mismatch::allowed,  &Mismatch::is_unwritten};
template <>
inline constexpr std::tuple kListedMembers<RmsError>{&RmsError::buffer, &RmsError::got,
                                                     &RmsError::allowed};
template <>
inline constexpr std::tuple kListedMembers<ZeroShare>{&ZeroShare::buffer, &ZeroShare::share};
template <>
inline constexpr std::tuple kListedMembers<Verification>{
    &Verification::elements,      &Verification::checked,
    &Verification::wrong,         &Verification::first_wrong,
    &Verification::overrun,       &Verification::changed_input,
    &Verification::rms,           &Verification::error_rms_rel,
    &Verification::error_max_rel, &Verification::worst_over_allowed,
    &Verification::zero_shares};
template <>
inline constexpr std::tuple kListedMembers<SampleTraits>{
    &SampleTraits::launches, &SampleTraits::flushed_bytes,  &SampleTraits::rotated_bytes,
    &SampleTraits::gated,    &SampleTraits::preparation_us, &SampleTraits::timeline};
template <>
inline constexpr std::tuple kListedMembers<Sample>{&Sample::time_us, &Sample::sm_clock_mhz,
                                                   &Sample::start_ns};
template <>
inline constexpr std::tuple kListedMembers<ClockReading>{&ClockReading::mhz, &ClockReading::load};
template <>
inline constexpr std::tuple kListedMembers<CounterSupport>{&CounterSupport::unavailable,
                                                           &CounterSupport::unknown};
template <>
inline constexpr std::tuple kListedMembers<KernelCounts>{&KernelCounts::kernel,
                                                         &KernelCounts::values};
template <>
inline constexpr std::tuple kListedMembers<LaunchCounts>{
    &LaunchCounts::metrics, &LaunchCounts::kernels, &LaunchCounts::passes,
    &LaunchCounts::standard_error};
template <>
inline constexpr std::tuple kListedMembers<SourceCounts>{&SourceCounts::warps,
                                                         &SourceCounts::lanes,
                                                         &SourceCounts::predicated_lanes,
                                                         &SourceCounts::sectors,
                                                         &SourceCounts::ideal_sectors,
                                                         &SourceCounts::shared_wavefronts,
                                                         &SourceCounts::ideal_shared_wavefronts};
template <>
inline constexpr std::tuple kListedMembers<CountedInstruction>{
    &CountedInstruction::kernel, &CountedInstruction::address, &CountedInstruction::counts};

namespace wire {

Json to_json(const DeviceError& error);
Json to_json(const CountedLaunch& launch);
/// The values, and the identities of the files that the values name.
Json to_json(const Family& family, const Values& values);

/// The functions below throw JsonError for JSON that to_json() does not write.
DeviceError error_from(const Json& json);
/// Also throws std::invalid_argument for an unknown family, variant or mode.
CountedLaunch counted_launch_from(const Json& json, const Registry& registry);
/// Also registers the files that the values name (plan_file).
Values values_from(const Json& json);

Mode mode_from(const Json& json);

}  // namespace wire

}  // namespace gpuexp
