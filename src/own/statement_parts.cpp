#include "own/statement_parts.hpp"

#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/text_parts.hpp"

namespace gpuexp::own {

namespace {

FillKind fill_kind(Statement& s) {
  constexpr std::pair<const char*, FillKind> kFills[] = {{"uniform", FillKind::uniform},
                                                         {"normal", FillKind::normal},
                                                         {"integers", FillKind::integers},
                                                         {"iota", FillKind::iota},
                                                         {"zeros", FillKind::zeros}};
  const Place place = s.place();
  const std::string found = s.name("a fill such as uniform or zeros");
  std::vector<std::string> names;
  for (const auto& [name, kind] : kFills) {
    if (found == name) return kind;
    names.emplace_back(name);
  }
  names.emplace_back("FILE.npy");
  s.fail_at(place, fmt::format("unknown fill '{}'{}, or a number", shorten(found),
                               allowed_names(found, names)));
}

/// A constant begins with a digit, a sign, a point or a parenthesis, and a fill with its name.
bool is_constant_fill(const Statement& s) {
  const std::string_view rest = s.rest();
  return !rest.empty() && (std::isdigit(static_cast<unsigned char>(rest.front())) != 0 ||
                           std::string_view("-.(").find(rest.front()) != std::string_view::npos);
}

/// One value, or up to three in parentheses, which the next value or the end of the launch follows.
std::vector<PlacedExpression> read_dimensions(Statement& s, std::string_view what) {
  constexpr std::size_t kMaxDimensions = 3;
  const Statement whole = s;
  s.takes_word("dim3");
  if (s.takes("(")) {
    std::vector<PlacedExpression> dimensions;
    do {
      dimensions.push_back(s.expression());
    } while (s.takes(","));
    s.expect(")", what);
    if (dimensions.size() > kMaxDimensions)
      whole.fail(fmt::format("{} has {} dimensions; expected at most {}", what, dimensions.size(),
                             kMaxDimensions));
    const bool is_end = s.rest().starts_with(',') || s.rest().starts_with(">>>");
    if (is_end || dimensions.size() > 1) return dimensions;
  }
  // Without parentheses, or with parentheses that belong to the expression: (n + 255) / 256.
  s = whole;
  return {s.expression()};
}

/// "<BM, BN, float>", unless the "<<<" of the launch follows.
std::optional<std::vector<DeclaredTemplateArgument>> read_template_arguments(Statement& s) {
  if (!s.rest().starts_with('<') || s.rest().starts_with("<<<")) return std::nullopt;
  s.takes("<");
  std::vector<DeclaredTemplateArgument> arguments;
  if (s.takes(">")) return arguments;
  do {
    arguments.push_back(s.template_argument());
  } while (s.takes(","));
  if (!s.takes(">"))
    s.fail(
        fmt::format("expected '>' after the template arguments, found {}; a comparison among "
                    "them needs parentheses",
                    s.found()));
  return arguments;
}

DeclaredLaunch read_launch(Statement& s, std::string kernel, Place place) {
  DeclaredLaunch launch;
  launch.kernel = std::move(kernel);
  launch.place = place;
  launch.template_arguments = read_template_arguments(s);
  s.expect("<<<", launch.template_arguments ? "the template arguments" : "the kernel's name");
  launch.grid = read_dimensions(s, "the grid");
  if (!s.rest().starts_with(">>>")) {
    s.expect(",", "the grid");
    launch.block = read_dimensions(s, "the block");
    if (s.takes(",")) launch.shared_bytes = s.expression();
  }
  if (launch.shared_bytes && s.rest().starts_with(','))
    s.fail("a launch has no stream here; expected '>>>' after the bytes of shared memory");
  s.expect(">>>", "the launch's grid, block and bytes of shared memory");
  if (!s.takes("(")) return launch;
  launch.arguments.emplace();
  if (s.takes(")")) return launch;
  do {
    launch.arguments->push_back(s.expression());
  } while (s.takes(","));
  s.expect(")", "the arguments");
  return launch;
}

DeclaredMemset read_memset(Statement& s) {
  const Place place = s.place();
  s.takes_word("memset");
  s.takes("(");
  std::string buffer = s.name("the name of a buffer");
  s.expect(",", "the buffer");
  PlacedExpression value = s.expression();
  s.expect(")", "the value of each byte");
  return {std::move(buffer), std::move(value), place};
}

}  // namespace

std::optional<DeclaredArray> read_array(Statement& s) {
  if (!s.rest().ends_with(".npy")) return std::nullopt;
  const Place place = s.place();
  return DeclaredArray{std::string(s.take_rest()), place};
}

DeclaredFill read_fill(Statement& s) {
  DeclaredFill fill;
  fill.place = s.place();
  if (is_constant_fill(s)) {
    fill.kind = FillKind::constant;
    fill.low = s.expression();
    return fill;
  }
  fill.kind = fill_kind(s);
  const bool has_range = fill.kind == FillKind::integers ||
                         (fill.kind == FillKind::uniform && s.rest().starts_with('('));
  if (!has_range) return fill;
  s.expect("(", "integers, such as in integers(0, 100)");
  fill.low = s.expression();
  s.expect(",", "the lowest number");
  fill.high = s.expression();
  s.expect(")", "the end of the range");
  return fill;
}

DeclaredBuffer read_buffer(Statement& s, std::optional<BufferRole> role) {
  constexpr std::size_t kMaxExtents = 4;
  DeclaredBuffer buffer;
  buffer.place = s.place();
  buffer.role = role;
  buffer.name = s.name("the name of a buffer");
  while (s.takes("[")) {
    buffer.extents.push_back(s.expression());
    s.expect("]", "the extent");
  }
  if (buffer.extents.empty())
    s.fail(fmt::format("expected the extent of {0}, such as {0}[n], found {1}", buffer.name,
                       s.found()));
  if (buffer.extents.size() > kMaxExtents)
    s.fail_at(buffer.place, fmt::format("{} has {} extents; expected at most {}", buffer.name,
                                        buffer.extents.size(), kMaxExtents));
  return buffer;
}

bool begins_memset(std::string_view text) {
  constexpr std::string_view kMemset = "memset";
  return text.starts_with(kMemset) && trimmed(text.substr(kMemset.size())).starts_with('(');
}

std::vector<DeclaredStep> read_steps(Statement& s) {
  std::vector<DeclaredStep> steps;
  do {
    if (begins_memset(s.rest())) {
      steps.emplace_back(read_memset(s));
      continue;
    }
    const Place place = s.place();
    std::string kernel = s.name("the name of a kernel");
    steps.emplace_back(read_launch(s, std::move(kernel), place));
  } while (s.takes(";") && !s.is_empty());
  return steps;
}

std::vector<std::string> kernels_of(const DeclaredVariant& variant) {
  std::vector<std::string> kernels;
  for (const DeclaredStep& step : variant.steps) {
    if (const auto* const launch = std::get_if<DeclaredLaunch>(&step))
      kernels.push_back(launch->kernel);
  }
  return kernels;
}

double read_tolerance(Statement& s) {
  const PlacedExpression declared = s.expression();
  double value = 0;
  try {
    value = declared.expression.real({});
  } catch (const ExpressionError& error) {
    s.fail_at(after(declared.place, error.column()), error.what());
  }
  if (!(value >= 0 && value < 1))
    s.fail_at(declared.place,
              fmt::format("the tolerance is {}; expected a number from 0 to below 1, relative to "
                          "the magnitude of the expected value",
                          value));
  s.expect_end();
  return value;
}

}  // namespace gpuexp::own
