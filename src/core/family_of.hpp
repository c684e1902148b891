// The typed face of a Family: a kernel file describes its problem and its data as plain structs,
// and FamilyOf ties names, ranges and buffers to their members once. C++17, included by .cu files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/family.hpp"
#include "core/registry.hpp"

namespace gpuexp {

/// Element type of a buffer from the C++ type; device types (half, bfloat16) specialise it in
/// kernels/common.
template <class T>
struct DataTypeOf;
template <>
struct DataTypeOf<double> : std::integral_constant<DataType, DataType::fp64> {};
template <>
struct DataTypeOf<float> : std::integral_constant<DataType, DataType::fp32> {};
template <>
struct DataTypeOf<std::int32_t> : std::integral_constant<DataType, DataType::int32> {};
template <>
struct DataTypeOf<std::uint32_t> : std::integral_constant<DataType, DataType::uint32> {};
template <>
struct DataTypeOf<std::uint64_t> : std::integral_constant<DataType, DataType::uint64> {};

/// A Variant whose callbacks see the family's own structs. Fields mean what they mean in Variant.
template <class Problem, class Data>
struct VariantOf {
  std::string id;
  std::string why;
  std::string compare_to;
  std::vector<MoveOf<Problem>> moves;
  bool is_vendor = false;
  int min_compute_capability = 0;
  bool synchronizes = false;
  std::vector<std::string> writes;
  std::function<std::optional<std::string>(const Problem&, const DeviceSpec&)> unsupported;
  std::function<std::optional<std::string>()> unavailable;
  std::function<std::vector<Shape>(const Problem&, const DeviceSpec&)> shapes;
  std::function<Work(const Problem&)> work;
  std::function<std::vector<Traffic>(const Problem&, const DeviceSpec&)> traffic;
  bool traffic_is_typical = false;
  std::function<std::int64_t(const Problem&, const DeviceSpec&)> workspace_bytes;
  std::function<MetricValues(const Problem&, const DeviceSpec&)> metrics;
  std::function<void(const Problem&, const Data&, const LaunchContext&)> launch;
  std::function<MetricValues(const Problem&, const Data&, const LaunchContext&)> measured_metrics;
};

namespace detail {

/// Lifts a callback on typed structs to one on opaque pointers; an empty callback stays empty. The
/// opaque pointers come from make_problem and make_data of the same family, so the casts are right
/// by construction.
template <class Typed, class R, class... Rest>
std::function<R(const void*, Rest...)> erase(std::function<R(const Typed&, Rest...)> f) {
  if (!f) return {};
  return [f = std::move(f)](const void* a, Rest... rest) -> R {
    return f(*static_cast<const Typed*>(a), std::forward<Rest>(rest)...);
  };
}

template <class A, class B, class R, class... Rest>
std::function<R(const void*, const void*, Rest...)> erase2(
    std::function<R(const A&, const B&, Rest...)> f) {
  if (!f) return {};
  return [f = std::move(f)](const void* a, const void* b, Rest... rest) -> R {
    return f(*static_cast<const A*>(a), *static_cast<const B*>(b), std::forward<Rest>(rest)...);
  };
}

}  // namespace detail

template <class Problem, class Data>
class FamilyOf {
 public:
  using Variant = VariantOf<Problem, Data>;

  FamilyOf(std::string id, std::string question) {
    family_.id = std::move(id);
    family_.question = std::move(question);
  }

  std::string physics;               ///< why the hardware behaves so; one paragraph
  std::string tolerance_derivation;  ///< the bound behind `tolerance`, with its source
  std::function<Extent(const Problem&)> outputs;
  std::function<std::optional<std::string>(const Problem&, const DeviceSpec&)> unsupported;
  std::function<void(const Problem&, const Data&, std::uint64_t seed, Stream)> prepare;
  std::function<void(const Problem&, const Data&, Stream)> reset;
  std::function<void(const Problem&, const Data&, const std::vector<ReferenceView>&, Stream)>
      reference;
  std::function<void(const Problem&, const Data&, const std::vector<ReferenceView>&)>
      host_reference;
  std::function<void(const Problem&, const Data&, const std::vector<ReferenceView>&, Stream)>
      accuracy_reference;
  std::function<Tolerance(const Problem&)> tolerance;

  /// A size of the problem, at least 1.
  template <class Int>
  FamilyOf& extent(std::string name, Int Problem::*member, std::int64_t default_value,
                   std::int64_t max, std::string doc) {
    integer(std::move(name), member, default_value, 1, max, "", std::move(doc));
    family_.parameters.back().is_extent = true;
    return *this;
  }

  /// A whole number in [min, max].
  template <class Int>
  FamilyOf& integer(std::string name, Int Problem::*member, std::int64_t default_value,
                    std::int64_t min, std::int64_t max, std::string unit, std::string doc) {
    static_assert(std::is_integral<Int>::value, "an integer parameter binds to an integer member");
    add_parameter({std::move(name),
                   default_value,
                   std::move(unit),
                   std::move(doc),
                   static_cast<double>(min),
                   static_cast<double>(max),
                   {},
                   false},
                  [member](Problem& p, const Value& v) {
                    p.*member = static_cast<Int>(std::get<std::int64_t>(v));
                  });
    return *this;
  }

  /// A real number in [min, max].
  FamilyOf& real(std::string name, double Problem::*member, double default_value, double min,
                 double max, std::string unit, std::string doc) {
    add_parameter(
        {std::move(name), default_value, std::move(unit), std::move(doc), min, max, {}, false},
        [member](Problem& p, const Value& v) { p.*member = std::get<double>(v); });
    return *this;
  }

  /// One of a set of names, each standing for a value of T; the first is the default.
  template <class T>
  FamilyOf& choice(std::string name, T Problem::*member,
                   std::vector<std::pair<std::string, T>> options, std::string doc) {
    Parameter parameter{
        std::move(name), options.front().first, "", std::move(doc), 0, 0, {}, false};
    for (const auto& option : options)
      parameter.choices.push_back(option.first);
    add_parameter(std::move(parameter),
                  [member, options = std::move(options)](Problem& p, const Value& v) {
                    for (const auto& option : options) {
                      if (option.first == std::get<std::string>(v)) p.*member = option.second;
                    }
                  });
    return *this;
  }

  /// A buffer of `count(problem)` elements whose type is that of the member it binds to.
  template <class T, class Count>
  FamilyOf& input(std::string name, T* Data::*member, Count count) {
    return buffer(
        std::move(name), BufferRole::input, member,
        [](const Problem&) { return DataTypeOf<std::remove_const_t<T>>::value; }, count);
  }
  template <class T, class Count>
  FamilyOf& output(std::string name, T* Data::*member, Count count) {
    return buffer(
        std::move(name), BufferRole::output, member,
        [](const Problem&) { return DataTypeOf<T>::value; }, count);
  }
  /// An output with a tolerance of its own.
  template <class T, class Count>
  FamilyOf& output(std::string name, T* Data::*member, Count count,
                   std::function<Tolerance(const Problem&)> own_tolerance) {
    output(std::move(name), member, count);
    family_.buffers.back().tolerance = detail::erase(std::move(own_tolerance));
    return *this;
  }
  /// A buffer whose element type depends on the problem; the member is a void pointer.
  template <class Type, class Count>
  FamilyOf& input(std::string name, void* Data::*member, Type type, Count count) {
    return buffer(std::move(name), BufferRole::input, member, type, count);
  }
  template <class Type, class Count>
  FamilyOf& output(std::string name, void* Data::*member, Type type, Count count) {
    return buffer(std::move(name), BufferRole::output, member, type, count);
  }

  /// Declares the column metric.<name>.
  FamilyOf& metric(std::string name, std::string unit, std::string doc) {
    family_.metrics.push_back({std::move(name), std::move(unit), std::move(doc)});
    return *this;
  }

  /// Appends a variant; the order is that of the ladder, simplest first.
  FamilyOf& variant(Variant v) {
    gpuexp::Variant erased;
    erased.id = std::move(v.id);
    erased.why = std::move(v.why);
    erased.compare_to = std::move(v.compare_to);
    for (MoveOf<Problem>& move : v.moves) {
      erased.moves.push_back({std::move(move.counter), move.direction, move.factor,
                              detail::erase(std::move(move.where))});
    }
    erased.is_vendor = v.is_vendor;
    erased.min_compute_capability = v.min_compute_capability;
    erased.synchronizes = v.synchronizes;
    erased.writes = std::move(v.writes);
    erased.unsupported = detail::erase(std::move(v.unsupported));
    erased.unavailable = std::move(v.unavailable);
    erased.shapes = detail::erase(std::move(v.shapes));
    erased.work = detail::erase(std::move(v.work));
    erased.traffic = detail::erase(std::move(v.traffic));
    erased.traffic_is_typical = v.traffic_is_typical;
    erased.workspace_bytes = detail::erase(std::move(v.workspace_bytes));
    erased.metrics = detail::erase(std::move(v.metrics));
    erased.launch = detail::erase2(std::move(v.launch));
    erased.measured_metrics = detail::erase2(std::move(v.measured_metrics));
    family_.variants.push_back(std::move(erased));
    return *this;
  }

  /// The type-erased family.
  Family build() const {
    Family f = family_;
    f.physics = physics;
    f.tolerance_derivation = tolerance_derivation;
    f.make_problem = [setters = setters_](const Values& values) -> std::shared_ptr<const void> {
      auto problem = std::make_shared<Problem>();
      for (std::size_t i = 0; i < setters.size(); ++i)
        setters[i](*problem, values.at(i));
      return problem;
    };
    f.make_data =
        [binders = binders_](const std::vector<void*>& pointers) -> std::shared_ptr<const void> {
      auto data = std::make_shared<Data>();
      for (std::size_t i = 0; i < binders.size(); ++i)
        binders[i](*data, pointers.at(i));
      return data;
    };
    f.outputs = detail::erase(outputs);
    f.unsupported = detail::erase(unsupported);
    f.prepare = detail::erase2(prepare);
    f.reset = detail::erase2(reset);
    f.reference = detail::erase2(reference);
    f.host_reference = detail::erase2(host_reference);
    f.accuracy_reference = detail::erase2(accuracy_reference);
    f.tolerance = detail::erase(tolerance);
    return f;
  }

 private:
  void add_parameter(Parameter parameter, std::function<void(Problem&, const Value&)> setter) {
    family_.parameters.push_back(std::move(parameter));
    setters_.push_back(std::move(setter));
  }

  template <class T, class Type, class Count>
  FamilyOf& buffer(std::string name, BufferRole role, T* Data::*member, Type type, Count count) {
    family_.buffers.push_back({std::move(name),
                               role,
                               detail::erase(std::function<DataType(const Problem&)>(type)),
                               detail::erase(std::function<std::int64_t(const Problem&)>(count)),
                               {}});
    binders_.push_back([member](Data& d, void* pointer) { d.*member = static_cast<T*>(pointer); });
    return *this;
  }

  Family family_;
  std::vector<std::function<void(Problem&, const Value&)>> setters_;
  std::vector<std::function<void(Data&, void*)>> binders_;
};

/// Registers a family before main: `const Registration registration(declare());` at the bottom of
/// its file.
struct Registration {
  template <class Problem, class Data>
  explicit Registration(const FamilyOf<Problem, Data>& family) {
    Registry::global().add(family.build());
  }
};

}  // namespace gpuexp
