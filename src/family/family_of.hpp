// The typed form of a Family. A kernel file declares its problem and data as structs, and
// FamilyOf binds parameters and buffers to their members. C++17, included by .cu files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "family/family.hpp"

namespace gpuexp {

/// Element type of a buffer, from the C++ type. kernels/common specializes it for device types
/// (half, bfloat16).
template <class T>
struct DataTypeOf;
template <>
struct DataTypeOf<double> : std::integral_constant<DataType, DataType::fp64> {};
template <>
struct DataTypeOf<float> : std::integral_constant<DataType, DataType::fp32> {};
template <>
struct DataTypeOf<std::int32_t> : std::integral_constant<DataType, DataType::int32> {};
template <>
struct DataTypeOf<std::uint8_t> : std::integral_constant<DataType, DataType::uint8> {};
template <>
struct DataTypeOf<std::uint16_t> : std::integral_constant<DataType, DataType::uint16> {};
template <>
struct DataTypeOf<std::uint32_t> : std::integral_constant<DataType, DataType::uint32> {};
template <>
struct DataTypeOf<std::uint64_t> : std::integral_constant<DataType, DataType::uint64> {};

namespace detail {
/// Converts a member pointer to a function of the problem. Returns other callables unchanged.
template <class F>
constexpr auto function_of_problem(F f) {
  if constexpr (std::is_member_object_pointer<F>::value) {
    return [f](const auto& problem) { return problem.*f; };
  } else {
    return f;
  }
}

template <class Pointers>
struct Pointee;
template <class T>
struct Pointee<T*> {
  using Type = T;
};
template <class T>
struct Pointee<Ranks<T>> {
  using Type = T;
};
}  // namespace detail

/// A Variant whose callbacks receive the family's structs. Members have the same meaning as in
/// Variant.
template <class Problem, class Data>
struct VariantOf : VariantFacts {
  /// Callbacks that receive the problem (OnProblem) or the problem and its buffers (OnData)
  /// before the arguments of Signature.
  template <class Signature>
  using OnProblem = TypedCallback<Signature, Problem>;
  template <class Signature>
  using OnData = TypedCallback<Signature, Problem, Data>;

  VariantOf() = default;
  explicit VariantOf(std::string name, std::string reference = "",
                     ExpectedChangesOf<Problem> expected = {})
      : expected_changes(std::move(expected)) {
    id = std::move(name);
    compare_to = std::move(reference);
  }
  /// Returns a copy with other expected changes. against() also replaces compare_to.
  VariantOf expecting(ExpectedChangesOf<Problem> expected) const {
    VariantOf v = *this;
    v.expected_changes = std::move(expected);
    return v;
  }
  VariantOf against(std::string other, ExpectedChangesOf<Problem> expected) const {
    VariantOf v = expecting(std::move(expected));
    v.compare_to = std::move(other);
    return v;
  }

  ExpectedChangesOf<Problem> expected_changes;
  OnProblem<std::optional<std::string>(const DeviceSpec&)> unsupported;
  OnProblem<Work()> work;
  OnProblem<std::int64_t(const DeviceSpec&)> workspace_bytes;
  OnProblem<MetricValues(const DeviceSpec&)> metrics;
  OnProblem<std::vector<Phase>(const DeviceSpec&)> phases;
  OnData<Steps(const LaunchContext&)> launch;
  OnData<Measurement(const LaunchContext&)> measured_metrics;
};

/// The untyped part of a declaration. Not a template, so that it is compiled once and not in
/// every family file.
class FamilyDeclaration {
 public:
  std::string physics;
  std::string tolerance_derivation;
  std::vector<CeilingRows> ceilings;
  bool refers_to_results = false;
  bool repeats_without_reset = false;

 protected:
  using SetMember = Callback<void(void* problem, const Value&)>;
  /// `of_ranks` are the pointers to one buffer on all ranks; `own` is the rank to bind.
  using BindMember = Callback<void(void* data, const std::vector<void*>& of_ranks, int own)>;
  using BindRank = Callback<void(void* data, int rank)>;
  using MakeStruct = Callback<std::shared_ptr<void>()>;

  FamilyDeclaration(std::string id, Topic topic, std::string question);
  FamilyDeclaration(const FamilyDeclaration&);
  ~FamilyDeclaration();

  void add_extent(std::string name, std::int64_t default_value, std::int64_t max, std::string doc,
                  SetMember set);
  void add_number(std::string name, Value default_value, double min, double max, std::string unit,
                  std::string doc, SetMember set);
  void add_choice(std::string name, std::vector<std::string> choices, std::string doc,
                  SetMember set);
  void set_file(Callback<std::string(const std::string&)> file_error,
                std::vector<std::string> unless_file);
  void add_buffer(std::string name, BufferRole role, Callback<DataType(const void*)> type,
                  Callback<std::int64_t(const void*)> count,
                  Callback<Tolerance(const void*)> own_tolerance, BindMember bind);
  void set_residence(Residence residence);  ///< applies to the last buffer added
  void set_told_from(std::int64_t word);    ///< applies to the last buffer added
  void set_span(Callback<int(const void*)> gpus, BindRank bind);
  static Callback<DataType(const void*)> always(DataType type);
  void add_metric(std::string name, std::string unit, std::string doc);
  void add_plot(Plot plot);
  void add_variant(gpuexp::Variant variant);
  /// The complete family. Its callbacks create problems and data with the given functions.
  Family declared(MakeStruct make_problem, MakeStruct make_data) const;
  /// Sets callbacks that the family file left empty to their defaults.
  static void set_defaults(Family& family);

 private:
  Family family_;
  std::vector<SetMember> setters_;
  std::vector<BindMember> binders_;
  BindRank bind_rank_;
};

template <class Problem, class Data>
class FamilyOf : public FamilyDeclaration {
 public:
  using Variant = VariantOf<Problem, Data>;
  template <class Signature>
  using OnProblem = typename Variant::template OnProblem<Signature>;
  template <class Signature>
  using OnData = typename Variant::template OnData<Signature>;

  FamilyOf(std::string id, Topic topic, std::string question)
      : FamilyDeclaration(std::move(id), topic, std::move(question)) {}

  OnProblem<Environment()> environment;
  OnProblem<Extent()> outputs;  ///< default: the number of elements of the first output, along x
  OnProblem<std::optional<std::string>(const DeviceSpec&)> unsupported;
  OnData<Steps(std::uint64_t seed)> inputs;
  OnData<Steps()> reset;
  OnData<Steps(const std::vector<ReferenceView>&)> reference;
  /// Default: runs the host loops of the steps that `reference` returns.
  OnData<void(const std::vector<ReferenceView>&)> host_reference;
  OnProblem<double()> reference_operations;
  OnData<Steps(const std::vector<ReferenceView>&)> accuracy_reference;
  OnProblem<Tolerance()> tolerance;  ///< default: zero

  /// Adds a size of the problem, at least 1.
  template <class Int>
  FamilyOf& extent(std::string name, Int Problem::*member, std::int64_t default_value,
                   std::int64_t max, std::string doc) {
    add_extent(std::move(name), default_value, max, std::move(doc), integer_setter(member));
    return *this;
  }

  template <class Int>
  FamilyOf& integer(std::string name, Int Problem::*member, std::int64_t default_value,
                    std::int64_t min, std::int64_t max, std::string unit, std::string doc) {
    add_number(std::move(name), default_value, static_cast<double>(min), static_cast<double>(max),
               std::move(unit), std::move(doc), integer_setter(member));
    return *this;
  }

  FamilyOf& real(std::string name, double Problem::*member, double default_value, double min,
                 double max, std::string unit, std::string doc) {
    add_number(std::move(name), default_value, min, max, std::move(unit), std::move(doc),
               [member](void* p, const Value& v) {
                 static_cast<Problem*>(p)->*member = std::get<double>(v);
               });
    return *this;
  }

  /// Adds a parameter with named values of T. The first is the default.
  template <class T>
  FamilyOf& choice(std::string name, T Problem::*member,
                   std::vector<std::pair<std::string, T>> options, std::string doc) {
    std::vector<std::string> names;
    for (const auto& option : options)
      names.push_back(option.first);
    add_choice(std::move(name), std::move(names), std::move(doc),
               [member, options = std::move(options)](void* p, const Value& v) {
                 for (const auto& option : options) {
                   if (option.first == std::get<std::string>(v))
                     static_cast<Problem*>(p)->*member = option.second;
                 }
               });
    return *this;
  }

  /// Adds a choice that also accepts file names that match one of `patterns` ("*.mtx"). For a file,
  /// sets `member` to `of_file` and `file` to the name. Parameter documents `file_error` and
  /// `unless_file`.
  template <class T>
  FamilyOf& choice_or_file(std::string name, T Problem::*member,
                           std::vector<std::pair<std::string, T>> options,
                           std::vector<std::string> patterns, T of_file, std::string Problem::*file,
                           Callback<std::string(const std::string&)> file_error,
                           std::vector<std::string> unless_file, std::string doc) {
    std::vector<std::string> names;
    for (const auto& option : options)
      names.push_back(option.first);
    for (std::string& pattern : patterns)
      names.push_back(std::move(pattern));
    add_choice(std::move(name), std::move(names), std::move(doc),
               [member, options = std::move(options), of_file, file](void* p, const Value& v) {
                 Problem& problem = *static_cast<Problem*>(p);
                 for (const auto& option : options) {
                   if (option.first != std::get<std::string>(v)) continue;
                   problem.*member = option.second;
                   return;
                 }
                 problem.*member = of_file;
                 problem.*file = std::get<std::string>(v);
               });
    set_file(std::move(file_error), std::move(unless_file));
    return *this;
  }

  /// Declares that the problem spans GPUs. Adds the parameter `gpus`, from 2 to `max`. In the
  /// data of each rank, `rank` is set to the rank's number.
  FamilyOf& spans(int Problem::*gpus, int Data::*rank, int max = kMaxRanks) {
    integer("gpus", gpus, 2, 2, max, "", "number of GPUs that the problem spans");
    set_span([gpus](const void* p) { return static_cast<const Problem*>(p)->*gpus; },
             [rank](void* d, int own) { static_cast<Data*>(d)->*rank = own; });
    return *this;
  }

  /// Adds a buffer that binds to a pointer. If the problem spans GPUs, each rank has such a
  /// buffer, and the member is a Ranks with the pointers of all ranks. `of` is the number of
  /// elements, optionally followed by the tolerance of this output. For a pointer to void, the
  /// element type comes first. Each of these arguments is a function of the problem or a member
  /// pointer.
  template <class Pointers, class... Of>
  FamilyOf& input(std::string name, Pointers Data::*member, Of... of) {
    return buffer(std::move(name), BufferRole::input, member, std::move(of)...);
  }
  template <class Pointers, class... Of>
  FamilyOf& output(std::string name, Pointers Data::*member, Of... of) {
    return buffer(std::move(name), BufferRole::output, member, std::move(of)...);
  }
  /// Adds an output whose contents before the launch are an input; `inputs` fills it.
  template <class Pointers, class... Of>
  FamilyOf& in_out(std::string name, Pointers Data::*member, Of... of) {
    return buffer(std::move(name), BufferRole::in_out, member, std::move(of)...);
  }
  template <class Pointers, class... Of>
  FamilyOf& state(std::string name, Pointers Data::*member, Of... of) {
    return buffer(std::move(name), BufferRole::state, member, std::move(of)...);
  }
  FamilyOf& flags_from(std::int64_t word) {
    set_told_from(word);
    return *this;
  }
  /// Sets the residence of the last buffer added; the default is device memory.
  FamilyOf& lives_in(Residence residence) {
    set_residence(residence);
    return *this;
  }

  FamilyOf& metric(std::string name, std::string unit, std::string doc) {
    add_metric(std::move(name), std::move(unit), std::move(doc));
    return *this;
  }

  FamilyOf& plot(std::string name, std::string kind, std::string title,
                 std::vector<PlotAxis> axes = {}) {
    add_plot({std::move(name), std::move(kind), std::move(title), std::move(axes)});
    return *this;
  }

  /// Appends variants, simplest first. Documentation explains them in this order.
  template <class... Variants>
  FamilyOf& variants(const Variants&... all) {
    (variant(all), ...);
    return *this;
  }
  FamilyOf& variant(Variant v) {
    gpuexp::Variant erased(static_cast<const VariantFacts&>(v), v.expected_changes.erased());
    erased.unsupported = v.unsupported.erased();
    erased.work = v.work.erased();
    erased.workspace_bytes = v.workspace_bytes.erased();
    erased.metrics = v.metrics.erased();
    erased.launch = v.launch.erased();
    erased.phases = v.phases.erased();
    erased.measured_metrics = v.measured_metrics.erased();
    add_variant(std::move(erased));
    return *this;
  }

  Family build() const {
    Family f = declared([] { return std::shared_ptr<void>(std::make_shared<Problem>()); },
                        [] { return std::shared_ptr<void>(std::make_shared<Data>()); });
    f.environment = environment.erased();
    f.outputs = outputs.erased();
    f.unsupported = unsupported.erased();
    f.inputs = inputs.erased();
    f.reset = reset.erased();
    f.reference = reference.erased();
    f.host_reference = host_reference.erased();
    f.reference_operations = reference_operations.erased();
    f.accuracy_reference = accuracy_reference.erased();
    f.tolerance = tolerance.erased();
    set_defaults(f);
    return f;
  }

 private:
  template <class Int>
  static SetMember integer_setter(Int Problem::*member) {
    static_assert(std::is_integral<Int>::value, "an integer parameter binds to an integer member");
    return [member](void* p, const Value& v) {
      static_cast<Problem*>(p)->*member = static_cast<Int>(std::get<std::int64_t>(v));
    };
  }

  template <class Pointers, class... Of>
  FamilyOf& buffer(std::string name, BufferRole role, Pointers Data::*member, Of... of) {
    using Element = std::remove_const_t<typename detail::Pointee<Pointers>::Type>;
    if constexpr (std::is_void<Element>::value) {
      bind_of_type(std::move(name), role, member, std::move(of)...);
    } else {
      bind(std::move(name), role, member, always(DataTypeOf<Element>::value), std::move(of)...);
    }
    return *this;
  }
  template <class Pointers, class Type, class... Of>
  void bind_of_type(std::string name, BufferRole role, Pointers Data::*member, Type type,
                    Of... of) {
    bind(std::move(name), role, member,
         OnProblem<DataType()>(detail::function_of_problem(type)).erased(), std::move(of)...);
  }
  template <class Pointers, class Count>
  void bind(std::string name, BufferRole role, Pointers Data::*member,
            Callback<DataType(const void*)> type, Count count,
            OnProblem<Tolerance()> own_tolerance = nullptr) {
    add_buffer(std::move(name), role, std::move(type),
               OnProblem<std::int64_t()>(detail::function_of_problem(count)).erased(),
               own_tolerance.erased(),
               [member](void* d, const std::vector<void*>& of_ranks, int own) {
                 point_to(static_cast<Data*>(d)->*member, of_ranks, own);
               });
  }
  template <class T>
  static void point_to(T*& pointer, const std::vector<void*>& of_ranks, int own) {
    pointer = static_cast<T*>(of_ranks[static_cast<std::size_t>(own)]);
  }
  template <class T>
  static void point_to(Ranks<T>& ranks, const std::vector<void*>& of_ranks, int) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(kMaxRanks); ++r)
      ranks.of[r] = r < of_ranks.size() ? static_cast<T*>(of_ranks[r]) : nullptr;
  }
};

/// Registers a family before main. Usage at the end of a kernel file: `const Registration
/// registration(declare());`.
struct Registration {
  template <class Problem, class Data>
  explicit Registration(const FamilyOf<Problem, Data>& family) : Registration(family.build()) {}
  explicit Registration(Family family);
};

}  // namespace gpuexp
