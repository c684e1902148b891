#include "cli/number_checks.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text.hpp"

namespace gpuexp::cli {

namespace {

constexpr const char* kInHelp = "POSITIVE";

}  // namespace

CLI::Validator above_zero() {
  return {[](std::string& text) -> std::string {
            const auto number = parsed<double>(text);
            if (!number || !std::isfinite(*number))
              return fmt::format("must be a number above 0, but is '{}'", shorten(text));
            return *number > 0 ? "" : fmt::format("must be above 0, but is {}", shorten(text));
          },
          kInHelp};
}

CLI::Validator at_least_one() {
  return {[](std::string& text) -> std::string {
            if (parsed<std::uint64_t>(text).value_or(0) >= 1) return "";
            return fmt::format("must be an integer of at least 1, but is {}", shorten(text));
          },
          kInHelp};
}

}  // namespace gpuexp::cli
