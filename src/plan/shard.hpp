// Shards: parts of a run that several machines, or several GPUs, take one each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

struct Plan;

/// Part `index` of `count`, both from 1.
struct Shard {
  std::size_t index = 1;
  std::size_t count = 1;

  bool operator==(const Shard&) const = default;
};

/// "2/4".
std::string to_string(const Shard& shard);
/// Reads "2/4". Throws ConfigError saying what is wrong.
Shard parse_shard(std::string_view text);

/// A cell of a whole plan: what it is called, and the shard that it belongs to, from 1.
struct ShardedCell {
  std::string key;
  std::size_t shard = 1;

  bool operator==(const ShardedCell&) const = default;
};

/// The shard of each group, from 1 to `count`. Every group is in one shard, whole, whether its
/// cells can run on this machine or not. Groups go to the shard that has least to do, longest
/// first; how long they take is estimated from the config and the problems alone, so that every
/// machine that makes the same plan divides it alike. Shards beyond the number of groups are empty.
std::vector<std::size_t> shards_of_groups(const Plan& plan, std::size_t count);

/// The cells of the plan, in its order.
std::vector<ShardedCell> sharded_cells(const Plan& plan, std::size_t count);

/// Leaves the shard's groups, in their order, and numbers their cells anew.
void keep_shard(const Shard& shard, Plan& plan);

}  // namespace gpuexp
