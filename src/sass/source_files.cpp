#include "sass/source_files.hpp"

#include "base/text_parts.hpp"

namespace gpuexp {

SourceFiles::SourceFiles(const SourceText* table, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    add(table[i]);
}

void SourceFiles::add(const SourceText& source) {
  std::vector<std::string_view>& lines = lines_[source.file];
  lines.clear();
  std::string_view text = source.text;
  while (!text.empty())
    lines.push_back(take_until(text, "\n"));
}

std::optional<std::string_view> SourceFiles::line(const std::string& file,
                                                  std::uint32_t number) const {
  const auto found = lines_.find(file);
  if (found == lines_.end() || number == 0 || number > found->second.size()) return std::nullopt;
  return found->second[number - 1];
}

}  // namespace gpuexp
