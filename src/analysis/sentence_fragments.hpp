// Words and numbers that headlines are made of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "family/expected_change.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// Three digits; counts in full, since a divisor of 2048 is not one of 2050.
std::string number_fragment(double value);
/// Two digits, three from 99 on: 99.6 is not 100, nor is 104.
std::string percent_fragment(double value);
/// "8.93×".
std::string ratio_fragment(double ratio);
/// How often the time of `fast` goes into that of `slow`, with the 95 % interval where it shows:
/// "8.93× (8.88 to 8.97)".
std::string ratio_fragment(const ResultRecord& fast, const ResultRecord& slow);
/// "1.07 GB", "67.4 M", "132": three digits and the prefix of a power of 1000.
std::string quantity_fragment(double value, std::string_view unit);
/// "decreases (8× or more)", "unchanged (within 1.05×; at some problems)".
std::string expected_change_fragment(const ExpectedChange& expected);
/// "l1_data_wavefronts decreases (8× or more), dram_read_bytes unchanged (within 1.05×)".
std::string expected_changes_fragment(const std::vector<ExpectedChange>& changes);
/// The median time of a row that has one.
std::string time_fragment(const ResultRecord& row);

/// "at m = n = k = 4096, ": what tells the row's group apart; "" when nothing does.
std::string place_fragment(const ExperimentResults& experiment, const ResultRecord& row);

/// `lead`, then "18 % of the fp32 limit"; "" where the limit is unknown or exceeded.
std::string limit_fragment(const ResultRecord& row, const char* lead);

/// "waves 0.97 → 1.16, tiles 128 → 153": the first two of the columns that differ from one row
/// to the other; "" when none does.
std::string change_fragment(const ResultRecord& from, const ResultRecord& to,
                            const std::vector<ColumnHandle>& columns);

/// "; lost_share_pct is 0 with bf16_unscaled and 1.22 with fp16_unscaled": the first metric in
/// percent that tells the rows apart, for where time does not. `name` says what to call a row.
std::string share_fragment(const ExperimentResults& experiment, const std::vector<RecordRef>& rows,
                           const std::function<std::string(const ResultRecord&)>& name);

}  // namespace gpuexp
