#include "record/prediction_columns.hpp"

#include <cmath>

#include "family/counters.hpp"
#include "record/column_makers.hpp"

namespace gpuexp {

namespace {

// amount / time, where time is the median of a passed row.
Field per_second(const Row& row, double amount, double scale) {
  if (!row.time_us || amount <= 0) return std::monostate{};
  return amount / (row.time_us->median * 1e-6) / scale;
}

Field percent_of(const Row& row, const std::optional<double>& limit_us) {
  if (!row.time_us || !limit_us) return std::monostate{};
  return 100.0 * *limit_us / row.time_us->median;
}

double operations(const Prediction& prediction) {
  double sum = 0;
  for (const Operations& o : prediction.work.operations)
    sum += o.count;
  return sum;
}

double useful_bytes(const Prediction& p) {
  return p.work.bytes_read + p.work.bytes_written;
}

double moved_bytes(const Prediction& p) {
  return p.work.moved_read + p.work.moved_written;
}

// get(prediction, row) of a row that has a prediction.
template <class Get>
Column predicted(ColumnInfo info, Get get, Presence presence = Presence::some) {
  return with({std::move(info),
               [get](const Plan&, const Row& row) -> Field {
                 return row.prediction ? Field{get(*row.prediction, row)} : Field{};
               }},
              presence);
}

// get of a part that not every prediction has.
template <class Part, class Get>
Column of_part(ColumnInfo info, std::optional<Part> Prediction::*part, Get get) {
  return predicted(std::move(info), [part, get](const Prediction& p, const Row&) {
    return p.*part ? Field{get(*(p.*part))} : Field{};
  });
}

void append_work(std::vector<Column>& c) {
  c.push_back(predicted(
      {"useful_bytes", "B", kReal, "bytes that the result needs: inputs once, outputs once"},
      [](const Prediction& p, const Row&) { return useful_bytes(p); }));
  c.push_back(
      predicted({"moved_bytes", "B", kReal,
                 "least bytes that DRAM moves for it: useful bytes rounded up to the 32-byte "
                 "sectors that the access touches"},
                [](const Prediction& p, const Row&) { return moved_bytes(p); }));
  c.push_back(
      predicted({"operations", "", kReal, "arithmetic operations, a fused multiply-add counting 2"},
                [](const Prediction& p, const Row&) {
                  return operations(p) > 0 ? Field{operations(p)} : Field{};
                }));
  c.push_back(predicted(
      {"useful_gb_per_s", "GB/s", kReal, "useful bytes over median time (10^9 bytes)"},
      [](const Prediction& p, const Row& r) { return per_second(r, useful_bytes(p), 1e9); },
      Presence::passed));
  c.push_back(predicted(
      {"moved_gb_per_s", "GB/s", kReal, "moved bytes over median time"},
      [](const Prediction& p, const Row& r) { return per_second(r, moved_bytes(p), 1e9); },
      Presence::passed));
  c.push_back(predicted(
      {"tflops", "TFLOP/s", kReal, "operations over median time (10^12 operations)"},
      [](const Prediction& p, const Row& r) { return per_second(r, operations(p), 1e12); },
      Presence::passed));
}

struct LimitDocs {
  std::string prefix;  ///< of the columns
  std::string time;
  std::string by;
  std::string share;
};

void append_limit(std::vector<Column>& c, const LimitDocs& docs, Limit Prediction::*limit) {
  c.push_back(
      predicted({docs.prefix + "_time_us", "us", kReal, docs.time},
                [limit](const Prediction& p, const Row&) { return field((p.*limit).time_us); }));
  c.push_back(predicted({docs.prefix + "_by", "", kText, docs.by},
                        [limit](const Prediction& p, const Row&) { return text((p.*limit).by); }));
  c.push_back(predicted(
      {docs.prefix + "_pct", "%", kReal, docs.share},
      [limit](const Prediction& p, const Row& r) { return percent_of(r, (p.*limit).time_us); },
      Presence::passed));
}

void append_limits(std::vector<Column>& c) {
  append_limit(c,
               {"limit", "least time that datasheet bandwidth and rates allow",
                "what binds that limit: dram, or an arithmetic pipe", "limit over median time"},
               &Prediction::limit);
  c.push_back(predicted(
      {"dram_limit_pct", "%", kReal,
       "time for the least DRAM bytes at datasheet bandwidth over median time"},
      [](const Prediction& p, const Row& r) { return percent_of(r, p.limit.dram_us); },
      Presence::passed));
  c.push_back(predicted(
      {"compute_limit_pct", "%", kReal,
       "time for the operations at the datasheet rate over median time"},
      [](const Prediction& p, const Row& r) { return percent_of(r, p.limit.compute_us); },
      Presence::passed));
  append_limit(c,
               {"measured_limit", "least time that ceilings measured on this kind of GPU allow",
                "what binds that limit", "measured limit over median time"},
               &Prediction::measured_limit);
}

void append_predicted_time(std::vector<Column>& c) {
  c.push_back(
      predicted({"predicted_time_us", "us", kReal,
                 "time that what the variant declares to move and execute takes on this GPU"},
                [](const Prediction& p, const Row&) { return field(p.time_us); }));
  c.push_back(predicted(
      {"bound_by", "", kText,
       fmt::format("what takes longest in that prediction: {}", one_of(resource_names()))},
      [](const Prediction& p, const Row&) { return text(p.bound_by); }));
  c.push_back(predicted(
      {"prediction_error", "", kReal,
       "natural logarithm of predicted over median time: 0.1 is 10 % too long"},
      [](const Prediction& p, const Row& r) -> Field {
        if (!p.time_us || !r.time_us) return {};
        return std::log(*p.time_us / r.time_us->median);
      },
      Presence::passed));
}

// Counted bytes of device memory; empty where they were not counted.
std::optional<double> counted_dram_bytes(const Row& row) {
  if (!row.counts) return std::nullopt;
  const auto bytes = select_counters({"dram_read_bytes", "dram_write_bytes"});
  const auto read = counted(bytes[0], *row.counts);
  const auto written = counted(bytes[1], *row.counts);
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

// The bytes of device memory that an intensity is made of, and where they are from.
std::pair<double, std::string> intensity_bytes(const Row& row) {
  if (const auto counted = counted_dram_bytes(row)) return {*counted, "counted"};
  const Prediction& p = *row.prediction;
  double declared = 0;
  for (const Traffic& t : p.traffic)
    declared += t.launches * (t.dram_read_bytes + t.dram_write_bytes);
  if (declared > 0) return {declared, "declared"};
  return {moved_bytes(p), "least"};
}

void append_intensity(std::vector<Column>& c) {
  c.push_back(predicted({"arithmetic_intensity", "", kReal, "operations per byte of device memory"},
                        [](const Prediction& p, const Row& r) -> Field {
                          const double bytes = intensity_bytes(r).first;
                          return operations(p) > 0 && bytes > 0 ? Field{operations(p) / bytes}
                                                                : Field{};
                        }));
  c.push_back(predicted(
      {"intensity_from", "", kText,
       "whose bytes these are: counted, declared by the variant, or the least there can be"},
      [](const Prediction& p, const Row& r) -> Field {
        return operations(p) > 0 ? Field{intensity_bytes(r).second} : Field{};
      }));
}

void append_occupancy(std::vector<Column>& c) {
  const auto shape = [](ColumnInfo info, std::int64_t (*get)(const Shape&)) {
    return of_part(std::move(info), &Prediction::shape, get);
  };
  const auto occupied = [](ColumnInfo info, auto get) {
    return of_part(std::move(info), &Prediction::occupancy, get);
  };
  const auto waved = [](ColumnInfo info, auto get) {
    return of_part(std::move(info), &Prediction::waves, get);
  };
  c.push_back(shape({"grid_blocks", "", kInteger, "blocks of the largest launch"},
                    [](const Shape& s) { return s.grid.count(); }));
  c.push_back(shape({"block_threads", "", kInteger, "threads per block"},
                    [](const Shape& s) { return s.block.count(); }));
  c.push_back(occupied({"registers", "", kInteger, "registers per thread"},
                       [](const Occupancy& o) { return std::int64_t{o.registers}; }));
  c.push_back(
      occupied({"local_bytes", "B", kInteger, "local memory per thread: spills and indexed arrays"},
               [](const Occupancy& o) { return std::int64_t{o.local_bytes}; }));
  c.push_back(occupied({"shared_bytes", "B", kInteger, "shared memory per block"},
                       [](const Occupancy& o) { return o.shared_bytes; }));
  c.push_back(occupied({"blocks_per_sm", "", kInteger, "resident blocks per SM"},
                       [](const Occupancy& o) { return std::int64_t{o.blocks_per_sm}; }));
  c.push_back(
      occupied({"occupancy_pct", "%", kReal, "resident warps over the most that an SM holds"},
               [](const Occupancy& o) { return o.warps_pct; }));
  c.push_back(
      occupied({"occupancy_limiter", "", kText, "what keeps more blocks from being resident"},
               [](const Occupancy& o) { return o.limiter; }));
  c.push_back(waved({"waves", "", kReal, "blocks over (SMs × resident blocks per SM)"},
                    [](const Waves& w) { return w.waves; }));
  c.push_back(waved({"tail_efficiency_pct", "%", kReal, "blocks over (whole waves × wave size)"},
                    [](const Waves& w) { return w.tail_efficiency_pct; }));
}

}  // namespace

void append_prediction_columns(std::vector<Column>& columns) {
  append_work(columns);
  append_limits(columns);
  append_predicted_time(columns);
  append_intensity(columns);
  append_occupancy(columns);
}

}  // namespace gpuexp
