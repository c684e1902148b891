#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/table.hpp"
#include "record/result_record.hpp"

namespace gpuexp {

using RecordMember =
    std::variant<std::string ResultRecord::*, std::vector<std::string> ResultRecord::*,
                 std::vector<ExpectedChange> ResultRecord::*, std::optional<double> ResultRecord::*,
                 std::optional<std::int64_t> ResultRecord::*, std::optional<Mode> ResultRecord::*,
                 std::optional<Status> ResultRecord::*, std::optional<StopReason> ResultRecord::*,
                 std::optional<Implementation> ResultRecord::*>;

struct MemberFacts {
  FieldType type = FieldType::text;
  std::vector<std::string> values = {};  ///< allowed texts of an enumeration; empty: any text
};
MemberFacts facts_of(const RecordMember& member);

Field field_of(const RecordMember& member, const ResultRecord& record);
/// Sets the member. If the field is not a value of the member's type, returns false and leaves the
/// record unchanged.
bool store(const RecordMember& member, Field field, ResultRecord& record);

/// "cold or warm", "passed, failed or skipped".
std::string one_of(const std::vector<std::string>& names);
/// The values that store() accepts, for messages: "cold, warm, graph or profile".
std::string allowed_text(const RecordMember& member);

}  // namespace gpuexp
