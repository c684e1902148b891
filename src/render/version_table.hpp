// Tables of one version of a kernel file next to the version before.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/terminal_options.hpp"

namespace gpuexp {

/// What a table shows of each variant besides its status, in the order of VersionRow::values.
struct VersionQuantity {
  std::string_view title;
  std::string (*text)(double value);
};
std::string version_count_text(double value);
std::string version_percent_text(double value);
std::string version_bytes_text(double value);
std::string version_time_text(double value_us);
inline constexpr std::array kVersionQuantities{
    VersionQuantity{"instr.", version_count_text},       // warp instructions
    VersionQuantity{"sectors", version_count_text},      // 32-byte sectors of global memory
    VersionQuantity{"DRAM", version_bytes_text},         // bytes read and written
    VersionQuantity{"wavefronts", version_count_text},   // shared memory; bank conflicts add some
    VersionQuantity{"regs", version_count_text},         // per thread
    VersionQuantity{"shared", version_bytes_text},       // bytes per block
    VersionQuantity{"occupancy", version_percent_text},  // resident warps, % of the maximum
    VersionQuantity{"predicted", version_time_text},     // µs
};

/// A variant at one problem.
struct VersionRow {
  std::string problem;  ///< "n=1024"
  std::string variant;
  std::string status;      ///< as name_of(Status)
  bool is_wrong = false;   ///< the results are wrong, or there are none
  std::string reason;      ///< why it has this status, or why a time is missing; may be empty
  std::string bound_by;    ///< resource that bounds the predicted time; empty without a time
  std::string checked_at;  ///< the problem at which results were verified; empty if `problem`
  std::vector<std::optional<double>> values;  ///< in the order of kVersionQuantities
};

struct KernelVersion {
  std::vector<VersionRow> rows;
};

/// One table per problem. A variant with a quantity that differs from the version before has three
/// lines: before, now, and the ratio of each quantity that changed. `before` may be null. Reasons
/// follow the table.
std::string version_table_text(const KernelVersion& now, const KernelVersion* before,
                               const TerminalOptions& options);

}  // namespace gpuexp
