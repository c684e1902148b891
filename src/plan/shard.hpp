#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

struct Plan;

/// Part `index` of `count`, both counted from 1.
struct Shard {
  std::size_t index = 1;
  std::size_t count = 1;

  bool operator==(const Shard&) const = default;
};

/// "2/4".
std::string to_string(const Shard& shard);
/// Parses "2/4". Throws ConfigError for other text.
Shard parse_shard(std::string_view text);

struct ShardedCell {
  std::string key;
  std::size_t shard = 1;

  bool operator==(const ShardedCell&) const = default;
};

/// The shard of each group, from 1 to `count`. Each group, longest first, is assigned to the shard
/// with the least work, whether or not its cells can run on this machine. Durations are estimated
/// only from the config and the problems, so that all machines compute the same division. Shards
/// beyond the number of groups are empty.
std::vector<std::size_t> shards_of_groups(const Plan& plan, std::size_t count);

std::vector<ShardedCell> sharded_cells(const Plan& plan, std::size_t count);

/// Removes the groups of other shards and renumbers the remaining cells from 0.
void keep_shard(const Shard& shard, Plan& plan);

}  // namespace gpuexp
