// Builders for the JSON Schemas of configs and results. Members are in an order for readers: a
// schema's description precedes its properties.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace gpuexp::json_schema {

/// A document of draft 2020-12. The caller adds its description and definitions.
Json document(std::string_view title);

/// Adds a description as the first member of the schema, unless `doc` is empty.
Json described(std::string_view doc, const Json& schema);

/// A reference to one of the document's "$defs".
Json reference(std::string_view definition);

Json list_of(const Json& items, int at_least = 0);

/// Whether an object may have members that are not in `properties`.
enum class OtherMembers { allowed, refused };
Json object(const Json& properties, const std::vector<std::string>& required,
            OtherMembers others = OtherMembers::allowed);

}  // namespace gpuexp::json_schema
