// Members of a record, and how each is written into a field and read again, which follows from its
// type.
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

/// What a member's type says of its column.
struct MemberFacts {
  FieldType type = FieldType::text;
  std::vector<std::string> values = {};  ///< the only texts, of an enumeration; empty: any
};
MemberFacts facts_of(const RecordMember& member);

/// The member's value; empty where it is missing.
Field field_of(const RecordMember& member, const ResultRecord& record);
/// Fills the member. False where the field holds no value of it; the record is as it was, then.
bool store(const RecordMember& member, Field field, ResultRecord& record);

/// "cold or warm", "passed, failed or skipped".
std::string one_of(const std::vector<std::string>& names);
/// What store() takes, for messages: "cold, warm, graph or profile".
std::string allowed_text(const RecordMember& member);

}  // namespace gpuexp
