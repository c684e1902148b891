// What a variant says beforehand of its hardware counters: which of them move against the variant
// that it compares to, and how. C++17, included by .cu files.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/callback.hpp"

namespace gpuexp {

enum class Direction { falls, rises, stays };
inline constexpr std::array kDirections{Direction::falls, Direction::rises, Direction::stays};
std::string_view name_of(Direction direction);

/// Within this factor a counter stays, unless a move says otherwise; beyond it, it moved.
inline constexpr double kMoveFactor = 1.05;

/// What a counter does from the variant that another compares to, to that other. Condition takes
/// the problem: the family's own struct, or a pointer to it where its type is erased.
template <class Condition>
struct BasicMove {
  BasicMove(std::string c, Direction d, double f = kMoveFactor, Condition w = nullptr)
      : counter(std::move(c)), direction(d), factor(f), where(std::move(w)) {}

  std::string counter;  ///< id of one of kCounters
  Direction direction;
  double factor;    ///< by this at least; of Direction::stays, at most
  Condition where;  ///< problems at which it is promised; empty: at all of them
};

using Move = BasicMove<Callback<bool(const void* problem)>>;
/// Conditions aside, which cannot be compared.
bool operator==(const Move& a, const Move& b);
void add_move(std::vector<Move>& moves, Move move);
template <class Problem>
using MoveOf = BasicMove<TypedCallback<bool(), Problem>>;

/// A list of moves whose conditions see the family's own struct.
template <class Problem>
class MovesOf {
 public:
  MovesOf() = default;
  MovesOf(std::initializer_list<MoveOf<Problem>> moves) {
    for (const MoveOf<Problem>& move : moves)
      add_move(erased_, {move.counter, move.direction, move.factor, move.where.erased()});
  }
  const std::vector<Move>& erased() const { return erased_; }

 private:
  std::vector<Move> erased_;
};

/// Whether the counter did what the move says, from the one variant to the other. Counters are not
/// negative; one that was 0 and is not rises by any factor. False for NaN.
bool happened(const Move& move, double from, double to);

/// The moves that are promised at the problem, without their conditions.
std::vector<Move> moves_at(const std::vector<Move>& moves, const void* problem);

/// "dram_read_bytes falls 1.9;l2_sectors stays 1.05": as the column `moves` has them; without
/// conditions.
std::string text_of(const std::vector<Move>& moves);

/// The moves that the text names; nothing where a part of it is none, such as one with a direction
/// of a later version.
std::optional<std::vector<Move>> moves_in(std::string_view text);

}  // namespace gpuexp
