// A lesson page: hand-written Markdown with generated parts between markers.
//
//   <!-- gpuexp: results ../results/h200/all.json.zst -->  names the results, relative to the page
//   <!-- gpuexp: measurement matmul problem="n=4096" -->   a part: its kind and family
//   …                                                      generated text
//   <!-- /gpuexp -->
//
// Numbers in prose also come from recorded files. A comment after the paragraph lists them in
// order. Each number is replaced in the paragraph and in the list:
//
//   The kernel takes 12 µs, 3.1× as long as the copy.
//   <!-- gpuexp: values
//   12 µs = matmul/naive/* column=time_median_us
//   3.1× = matmul/naive/* column=time_median_us over=copy/*
//   -->
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

enum class LessonPartKind {
  results,  ///< names the results of the page; nothing is generated
  provenance,
  question,
  variants,
  code,  ///< a function of the family's source
  prediction,
  measurement,
  sweep,
  counters,
  explanation,
  table,     ///< a recorded file, unchanged
  declared,  ///< a list that the program declares, such as its columns
  figures,   ///< the published figures of recorded results
  value,     ///< one value in a list `values`
};
std::string_view name_of(LessonPartKind kind);

struct LessonPart {
  LessonPartKind kind;
  std::string place;    ///< "docs/lessons/matmul.md:12", for errors
  std::string subject;  ///< family, file, table or row, depending on the kind; "" for none
  std::vector<std::pair<std::string, std::string>> options;

  /// The value of the option; "" if not given.
  std::string option(std::string_view key) const;
  /// The recorded file that the part names; "" for the page's results.
  std::string file() const;
  /// The value of the option, split at `separator`; empty if not given.
  std::vector<std::string> option_list(std::string_view key, char separator) const;
};

struct LessonPiece {
  std::string text;                ///< text of the page, including the markers of generated text
  std::optional<LessonPart> part;  ///< the part that follows the text
};

struct LessonPage {
  std::vector<LessonPiece> pieces;
  std::string results;  ///< path of the results as named on the page; "" if there is none
};

/// A text of the page, for messages: shortened to one line, without control characters.
std::string in_message(std::string_view text);

bool needs_results(const LessonPage& page);

/// Families of the parts that are generated from the page's results, each once, in their order.
std::vector<std::string> families_of(const LessonPage& page);

/// Splits the page and drops generated text. Throws ConfigError "<name>:<line>: …" for a marker
/// that is invalid, has no end or is inside another part, and for a list of values that does not
/// match the paragraph above it.
LessonPage parse_lesson(std::string_view text, const std::string& name);

}  // namespace gpuexp
