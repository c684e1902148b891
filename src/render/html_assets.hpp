// The style and the script that a report's page holds: they stand in it as they are here.
#pragma once

#include <string_view>

namespace gpuexp {

extern const std::string_view kHtmlStyle;
extern const std::string_view kHtmlScript;

}  // namespace gpuexp
