// What the JSON Schemas of configs and of results are built from. Members stand in the order in
// which people read them: what it is before what it holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace gpuexp::json_schema {

/// A document of draft 2020-12, to which its description and definitions are added.
Json document(std::string_view title);

/// The schema with what it means before it; unchanged where the text is empty.
Json described(std::string_view doc, const Json& schema);

/// To one of the document's "$defs".
Json reference(std::string_view definition);

Json list_of(const Json& items, int at_least = 0);

/// Whether members that `properties` does not name may be there.
enum class OtherMembers { allowed, refused };
Json object(const Json& properties, const std::vector<std::string>& required,
            OtherMembers others = OtherMembers::allowed);

}  // namespace gpuexp::json_schema
