#include "family/move.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

std::string_view name_of(Direction direction) {
  switch (direction) {
    case Direction::falls: return "falls";
    case Direction::rises: return "rises";
    case Direction::stays: return "stays";
  }
  return "";
}

void add_move(std::vector<Move>& moves, Move move) {
  moves.push_back(std::move(move));
}

bool operator==(const Move& a, const Move& b) {
  return a.counter == b.counter && a.direction == b.direction && a.factor == b.factor;
}

bool happened(const Move& move, double from, double to) {
  const double factor = move.factor;
  switch (move.direction) {
    case Direction::falls: return from > 0 && to * factor <= from;
    case Direction::rises: return to > 0 && to >= from * factor;
    case Direction::stays: return to <= from * factor && from <= to * factor;
  }
  return false;
}

std::vector<Move> moves_at(const std::vector<Move>& moves, const void* problem) {
  std::vector<Move> promised;
  for (const Move& move : moves) {
    if (!move.where || move.where(problem))
      promised.push_back({move.counter, move.direction, move.factor});
  }
  return promised;
}

std::string text_of(const std::vector<Move>& moves) {
  std::vector<std::string> texts;
  texts.reserve(moves.size());
  for (const Move& move : moves)
    texts.push_back(fmt::format("{} {} {}", move.counter, name_of(move.direction), move.factor));
  return fmt::format("{}", fmt::join(texts, ";"));
}

namespace {

// The text up to the separator, which is taken away with it.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

std::optional<Move> move_in(std::string_view text) {
  const std::string_view counter = next_part(text, ' ');
  const std::string_view direction = next_part(text, ' ');
  double factor = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, factor);
  if (error != std::errc() || stopped_at != end || !(factor >= 1) || !std::isfinite(factor))
    return std::nullopt;
  for (const Direction known : kDirections) {
    if (direction == name_of(known)) return Move{std::string(counter), known, factor, {}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Move>> moves_in(std::string_view text) {
  std::vector<Move> moves;
  while (!text.empty()) {
    const std::string_view part = next_part(text, ';');
    if (part.empty()) continue;
    auto move = move_in(part);
    if (!move) return std::nullopt;
    moves.push_back(std::move(*move));
  }
  return moves;
}

}  // namespace gpuexp
