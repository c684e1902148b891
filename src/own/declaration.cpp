#include "own/declaration.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gpuexp::own {

Place after(Place place, std::size_t columns) {
  place.column += static_cast<int>(columns);
  return place;
}

void fail(const std::string& file, const Place& place, const std::string& message) {
  // Names and types in the source may be long.
  constexpr std::size_t kMaxMessage = 2000;
  std::size_t size = std::min(message.size(), kMaxMessage);
  while (size < message.size() && (static_cast<unsigned char>(message[size]) & 0xC0) == 0x80)
    --size;
  throw DeclarationError(fmt::format("{}:{}:{}: {}{}", file, place.line, place.column,
                                     message.substr(0, size), size < message.size() ? "…" : ""));
}

const DeclaredBuffer* Declaration::find_buffer(std::string_view name) const {
  const auto found = std::ranges::find(buffers, name, &DeclaredBuffer::name);
  return found == buffers.end() ? nullptr : &*found;
}

}  // namespace gpuexp::own
