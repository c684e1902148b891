// A lesson page: Markdown that people write, and between markers parts that are generated.
//
//   <!-- gpuexp: results ../results/h200/all.json -->      names the results, relative to the page
//   <!-- gpuexp: measurement matmul problem="n=4096" -->   a part: what it shows, of which family
//   …                                                      generated
//   <!-- /gpuexp -->
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

enum class LessonPartKind {
  results,  ///< names the file; nothing is generated
  provenance,
  question,
  variants,
  prediction,
  measurement,
  sweep,
  counters,
  reading,
};
std::string_view name_of(LessonPartKind kind);

struct LessonPart {
  LessonPartKind kind;
  std::string place;    ///< "docs/lessons/matmul.md:12", for errors
  std::string subject;  ///< the family or, of `results`, the file; "" of `provenance`
  std::vector<std::pair<std::string, std::string>> options;

  /// "" where the option is not given.
  std::string option(std::string_view key) const;
  /// Its parts between `separator`s; none where the option is not given.
  std::vector<std::string> option_list(std::string_view key, char separator) const;
};

struct LessonPiece {
  std::string text;  ///< as it stands on the page, with the markers around generated text
  std::optional<LessonPart> part;  ///< what stands behind it
};

struct LessonPage {
  std::vector<LessonPiece> pieces;
  std::string results;  ///< as the page names it; "" where it does not
};

/// What a page says, as a message has it: in one line, without control characters, and shortened.
std::string in_message(std::string_view text);

/// Splits the page. Text that an earlier run generated is left out. `name` is for messages. Throws
/// ConfigError "<name>:<line>: …" for a marker that cannot be read, that has no end, or that stands
/// inside of another's part.
LessonPage parse_lesson(std::string_view text, const std::string& name);

}  // namespace gpuexp
