// Text fragments of headlines and explanations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "family/expected_change.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// Three significant digits; all digits of an integer, because 2048 must not become 2050.
std::string number_fragment(double value);
/// Two significant digits; three at 99 and above, because 99.6 must not become 100.
std::string percent_fragment(double value);
/// "8.93×".
std::string ratio_fragment(double ratio);
/// Time of `slow` divided by time of `fast`, with the 95 % interval if three digits show it: "8.93×
/// (8.88 to 8.97)".
std::string ratio_fragment(const ResultRecord& fast, const ResultRecord& slow);
/// "1.07 GB", "67.4 M", "132": three digits with a decimal prefix.
std::string quantity_fragment(double value, std::string_view unit);
/// "decreases (8× or more)", "unchanged (within 1.05×; at some problems)".
std::string expected_change_fragment(const ExpectedChange& expected);
/// "l1_data_wavefronts decreases (8× or more), dram_read_bytes unchanged (within 1.05×)".
std::string expected_changes_fragment(const std::vector<ExpectedChange>& changes);
std::string time_fragment(const ResultRecord& row);

/// "at m = n = k = 4096, "; "cold: " if only the mode distinguishes the row; "" if place_of() is
/// "".
std::string place_fragment(const ExperimentResults& experiment, const ResultRecord& row);

/// `lead` followed by, for example, "18 % of the fp32 limit"; "" if the limit is unknown or
/// exceeded.
std::string limit_fragment(const ResultRecord& row, const char* lead);

/// "waves 0.97 → 1.16, tiles 128 → 153": the first two columns that differ between the rows; "" if
/// all are equal.
std::string change_fragment(const ResultRecord& from, const ResultRecord& to,
                            const std::vector<ColumnHandle>& columns);

/// "; lost_share_pct is 0 with bf16_unscaled and 1.22 with fp16_unscaled": the lowest and the
/// highest value of the first metric in percent that differs between the rows; "" if there is none.
/// `name` returns a row's name.
std::string share_fragment(const ExperimentResults& experiment, const std::vector<RecordRef>& rows,
                           const std::function<std::string(const ResultRecord&)>& name);

}  // namespace gpuexp
