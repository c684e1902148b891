#include "record/record_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/report_error.hpp"

namespace gpuexp {

namespace {

struct Group {
  const std::string& prefix;
  NamedValues ResultRecord::*member;
};

// Groups of columns with a prefix. Unknown columns without such a prefix are in
// ResultRecord::others.
const std::array<Group, 3>& groups() {
  static const std::array<Group, 3> kGroups{{{kParameterPrefix, &ResultRecord::parameters},
                                             {kMetricPrefix, &ResultRecord::metrics},
                                             {kCounterPrefix, &ResultRecord::counters}}};
  return kGroups;
}

}  // namespace

Field ColumnHandle::field(const ResultRecord& record) const {
  return fixed ? field_of(fixed->member, record) : (record.*group).field(name);
}

std::optional<double> ColumnHandle::number(const ResultRecord& record) const {
  return fixed ? number_in(field_of(fixed->member, record)) : (record.*group).number(name);
}

std::string ColumnHandle::text(const ResultRecord& record) const {
  return fixed ? text_of(field_of(fixed->member, record)) : (record.*group).text(name);
}

ColumnHandle column_of(const RecordMember& member) {
  const FixedColumn& column = fixed_column(member);
  return {&column, nullptr, column.name};
}

ColumnHandle metric_column(std::string name) {
  return {nullptr, &ResultRecord::metrics, std::move(name)};
}

ColumnHandle column_named(const std::string& name) {
  if (const FixedColumn* fixed = find_fixed_column(name)) return {fixed, nullptr, name};
  for (const Group& group : groups()) {
    if (name.starts_with(group.prefix))
      return {nullptr, group.member, name.substr(group.prefix.size())};
  }
  return {nullptr, &ResultRecord::others, name};
}

RecordTable::RecordTable(const std::vector<ColumnInfo>& infos) {
  std::array<NameList, 4> lists;
  const auto list_of = [&](NamedGroup group) -> NameList& {
    for (std::size_t i = 0; i < groups().size(); ++i) {
      if (groups().at(i).member == group) return lists.at(i);
    }
    return lists.back();
  };
  for (const ColumnInfo& info : infos) {
    RecordColumn& column = columns.emplace_back(RecordColumn{info, column_named(info.name)});
    if (column.handle.fixed) {
      const FieldType type = column.handle.fixed->type;
      if (info.type == type) continue;
      throw ReportError(fmt::format("column '{}' has type {}; expected {}", info.name,
                                    name_of(info.type), name_of(type)));
    }
    NameList& names = list_of(column.handle.group);
    column.place = names.names().size();
    names.add(column.handle.name);
  }
  const auto shared = [&](std::size_t i) {
    return std::make_shared<const NameList>(std::move(lists.at(i)));
  };
  parameters_ = shared(0);
  metrics_ = shared(1);
  counters_ = shared(2);
  others_ = shared(3);
}

bool RecordTable::has(const RecordMember& member) const {
  return std::ranges::any_of(columns, [&](const RecordColumn& c) {
    return c.handle.fixed && c.handle.fixed->member == member;
  });
}

ResultRecord RecordTable::blank_record() const {
  ResultRecord record;
  if (!parameters_) return record;
  record.parameters = NamedValues(parameters_);
  record.metrics = NamedValues(metrics_);
  record.counters = NamedValues(counters_);
  record.others = NamedValues(others_);
  return record;
}

Field field_of(const RecordColumn& column, const ResultRecord& record) {
  const ColumnHandle& handle = column.handle;
  return handle.fixed ? field_of(handle.fixed->member, record)
                      : (record.*handle.group).at(column.place);
}

std::vector<Field> fields_of(const std::vector<RecordColumn>& columns, const ResultRecord& record) {
  std::vector<Field> fields;
  fields.reserve(columns.size());
  for (const RecordColumn& column : columns)
    fields.push_back(field_of(column, record));
  return fields;
}

bool store(const RecordColumn& column, Field field, ResultRecord& record) {
  const ColumnHandle& handle = column.handle;
  if (handle.fixed) return store(handle.fixed->member, std::move(field), record);
  (record.*handle.group).at(column.place) = std::move(field);
  return true;
}

Table table_of(const RecordTable& table) {
  Table fields;
  fields.columns.assign(table.columns.begin(), table.columns.end());
  for (const ResultRecord& record : table.rows)
    fields.rows.push_back(fields_of(table.columns, record));
  return fields;
}

}  // namespace gpuexp
