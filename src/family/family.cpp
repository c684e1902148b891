#include "family/family.hpp"

#include <algorithm>

#include "base/names.hpp"

namespace gpuexp {

double operation_count(const Work& work) {
  double count = 0;
  for (const Operations& operations : work.operations)
    count += operations.count;
  return count;
}

bool Parameter::names_file(const Value& value) const {
  const auto* const text = std::get_if<std::string>(&value);
  return file_error && text &&
         std::none_of(choices.begin(), choices.end(), [&](const std::string& choice) {
           return choice == *text && !is_glob(choice);
         });
}

VariantFacts::VariantFacts() = default;
VariantFacts::VariantFacts(const VariantFacts&) = default;
VariantFacts::VariantFacts(VariantFacts&&) noexcept = default;
VariantFacts& VariantFacts::operator=(const VariantFacts&) = default;
VariantFacts& VariantFacts::operator=(VariantFacts&&) noexcept = default;
VariantFacts::~VariantFacts() = default;

Variant::Variant() = default;
Variant::Variant(const VariantFacts& facts, std::vector<ExpectedChange> expected)
    : VariantFacts(facts), expected_changes(std::move(expected)) {}
Variant::Variant(const Variant&) = default;
Variant::Variant(Variant&&) noexcept = default;
Variant& Variant::operator=(const Variant&) = default;
Variant& Variant::operator=(Variant&&) noexcept = default;
Variant::~Variant() = default;

Family::Family() = default;
Family::Family(const Family&) = default;
Family::Family(Family&&) noexcept = default;
Family& Family::operator=(const Family&) = default;
Family& Family::operator=(Family&&) noexcept = default;
Family::~Family() = default;

std::vector<Shape> Variant::shapes(const void* problem, const DeviceSpec& device) const {
  if (is_vendor) return {};
  return launch(problem, unbound_data.get(), {device, nullptr}).shapes();
}

bool VariantFacts::fills(std::string_view output) const {
  return writes.empty() || std::find(writes.begin(), writes.end(), output) != writes.end();
}

const Variant* Family::find(std::string_view variant_id) const {
  const auto it = std::find_if(variants.begin(), variants.end(),
                               [&](const Variant& v) { return v.id == variant_id; });
  return it == variants.end() ? nullptr : &*it;
}

const Parameter* Family::find_parameter(std::string_view name) const {
  const auto it = std::find_if(parameters.begin(), parameters.end(),
                               [&](const Parameter& p) { return p.name == name; });
  return it == parameters.end() ? nullptr : &*it;
}

Values Family::defaults() const {
  Values values;
  for (const Parameter& p : parameters)
    values.push_back(p.default_value);
  return values;
}

bool Family::holds(const Parameter& parameter, const Values& values) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::vector<std::string>& unless = parameters[i].unless_file;
    if (parameters[i].names_file(values.at(i)) &&
        std::find(unless.begin(), unless.end(), parameter.name) != unless.end())
      return false;
  }
  return true;
}

Values Family::shown_at(const Variant& variant, Values values) const {
  for (const auto& [name, value] : variant.shown_at)
    values.at(static_cast<std::size_t>(find_parameter(name) - parameters.data())) = value;
  return values;
}

}  // namespace gpuexp
