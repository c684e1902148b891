// A lesson page: Markdown that people write, and between markers parts that are generated.
//
//   <!-- gpuexp: results ../results/h200/all.json.zst -->  names the results, relative to the page
//   <!-- gpuexp: measurement matmul problem="n=4096" -->   a part: what it shows, of which family
//   …                                                      generated
//   <!-- /gpuexp -->
//
// Numbers in prose come from recorded files, too. A comment below their paragraph lists them in
// their order, and each is replaced there and in the list:
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
  results,  ///< names the file; nothing is generated
  provenance,
  question,
  variants,
  code,  ///< a function of the family's source
  prediction,
  measurement,
  sweep,
  counters,
  explanation,
  table,     ///< a recorded file as it is
  declared,  ///< a list that the program declares, as its columns
  figures,   ///< the published figures of recorded results
  value,     ///< one number of a list `values`
};
std::string_view name_of(LessonPartKind kind);

struct LessonPart {
  LessonPartKind kind;
  std::string place;    ///< "docs/lessons/matmul.md:12", for errors
  std::string subject;  ///< family, file or row, whichever the kind asks for; "" for none
  std::vector<std::pair<std::string, std::string>> options;

  /// "" where the option is not given.
  std::string option(std::string_view key) const;
  /// A file of its own that it is made from; "" for the page's results.
  std::string file() const;
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

/// Whether a part of it is made from the page's results.
bool needs_results(const LessonPage& page);

/// Splits the page, without text that an earlier run generated. `name` is for messages. Throws
/// ConfigError "<name>:<line>: …" for a marker that cannot be read, that has no end, or that is
/// inside another part, and for a value whose text is not in the paragraph above its list.
LessonPage parse_lesson(std::string_view text, const std::string& name);

}  // namespace gpuexp
