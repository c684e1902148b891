#include "run/output_comparison.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "record/measurement.hpp"

namespace gpuexp {

double poisoned_element(DataType type) {
  std::array<unsigned char, sizeof(double)> bytes{};
  bytes.fill(0xff);
  return to_double(bytes.data(), type);
}

Mismatch mismatch_of(const std::string& buffer, const Comparison& c, std::int64_t index,
                     double expected, double got, double allowed) {
  const bool has_all_bits =
      std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(poisoned_element(c.type));
  return {buffer, index, expected, got, allowed, c.is_poisoned && has_all_bits};
}

std::vector<Mismatch> mismatches(const std::string& buffer, const Comparison& c, std::int64_t first,
                                 const ReadElements& read) {
  constexpr std::int64_t kPart = 1 << 20;
  constexpr int kMaxParts = 64;
  std::vector<Mismatch> found;
  for (int part = 0; part < kMaxParts; ++part) {
    const std::int64_t begin = first + part * kPart;
    const std::int64_t count = std::min(kPart, c.count - begin);
    if (count <= 0) break;
    const auto got = read(c.got, c.type, begin, count);
    const auto expected = read(c.value, DataType::fp64, begin, count);
    const auto magnitude = read(c.magnitude, DataType::fp64, begin, count);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double allowed = c.tolerance.absolute + c.tolerance.relative * magnitude[i];
      const bool right = got[i] == expected[i] || std::abs(got[i] - expected[i]) <= allowed;
      // The device may have rounded `allowed` differently. The element at `first` was wrong there,
      // so it is listed even if it is right here.
      const std::int64_t index = begin + static_cast<std::int64_t>(i);
      if ((right || !is_checked(got[i], c, index)) && index != first) continue;
      found.push_back(mismatch_of(buffer, c, index, expected[i], got[i], allowed));
      if (found.size() == kMaxMismatches) return found;
    }
  }
  return found;
}

void add_output(const std::string& buffer, const Comparison& c, const ComparisonSums& sums,
                const FindMismatches& find, Verification& result) {
  const auto checked = static_cast<std::int64_t>(sums.checked);
  const auto rms_of = [&](double squares) {
    return std::sqrt(squares / static_cast<double>(checked));
  };
  result.checked += checked;
  result.elements += c.count;
  result.wrong += static_cast<std::int64_t>(sums.wrong);
  const double zero_share =
      checked == 0 ? 0 : static_cast<double>(sums.zero_passes) / static_cast<double>(checked);
  const auto known_share = std::ranges::find(result.zero_shares, buffer, &ZeroShare::buffer);
  if (known_share == result.zero_shares.end()) {
    result.zero_shares.push_back({buffer, zero_share});
  } else {  // another copy of the output
    known_share->share = std::max(known_share->share, zero_share);
  }
  result.worst_over_allowed =
      std::max(result.worst_over_allowed, std::bit_cast<double>(sums.worst_ratio));
  result.add_rms({buffer, rms_of(sums.error_squares),
                  rms_allowed(c.tolerance, rms_of(sums.value_squares),
                              std::bit_cast<double>(sums.largest_allowed), checked)});
  const double rms = rms_of(sums.accurate_squares);
  if (rms > 0) {
    result.error_rms_rel = std::max(result.error_rms_rel, rms_of(sums.inaccuracy_squares) / rms);
    result.error_max_rel =
        std::max(result.error_max_rel, std::bit_cast<double>(sums.worst_error) / rms);
  }
  const bool is_known = std::any_of(result.first_wrong.begin(), result.first_wrong.end(),
                                    [&](const Mismatch& m) { return m.buffer == buffer; });
  if (sums.wrong == 0 || is_known) return;
  std::vector<Mismatch> listed = find(static_cast<std::int64_t>(sums.first_wrong));
  // It shows an error of the reference, so it is listed even if too many wrong elements precede it.
  const auto without_value = static_cast<std::int64_t>(sums.first_without_value);  // -1: none
  if (without_value > listed.back().index) listed.push_back(find(without_value).front());
  std::ranges::move(listed, std::back_inserter(result.first_wrong));
}

}  // namespace gpuexp
