// Type-erased callables of families. They replace std::function, because <functional> took a third
// of the compile time of kernel files (docs/decisions/base.md): each file creates dozens of
// callables, and three compiler passes read the header. C++17, included by .cu files.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace gpuexp {

/// A callable with this signature, or empty. Copies share the captured state, which is const.
template <class Signature>
class Callback;

/// A Callback made from a function of the family's structs, and called with opaque pointers to
/// these structs.
template <class Signature, class... Structs>
class TypedCallback;

namespace detail {

template <class F>
void destroy(void* state) {
  delete static_cast<F*>(state);
}

/// Stores captured state of any type in one instantiation of shared_ptr.
template <class F>
std::shared_ptr<const void> shared_state(F f) {
  return std::shared_ptr<void>(static_cast<void*>(new F(std::move(f))), &destroy<F>);
}

template <class>
struct Opaque {
  using Pointer = const void*;
};

}  // namespace detail

template <class R, class... Arguments>
class Callback<R(Arguments...)> {
 public:
  Callback() = default;
  Callback(std::nullptr_t) {}
  template <class F, class = std::enable_if_t<!std::is_base_of<Callback, F>::value>>
  Callback(F f)
      : state_(detail::shared_state(std::move(f))),
        call_([](const void* state, Arguments... arguments) -> R {
          return (*static_cast<const F*>(state))(std::forward<Arguments>(arguments)...);
        }) {}

  explicit operator bool() const { return call_ != nullptr; }
  R operator()(Arguments... arguments) const {
    return call_(state_.get(), std::forward<Arguments>(arguments)...);
  }

 private:
  template <class, class...>
  friend class TypedCallback;
  using Call = R (*)(const void* state, Arguments...);
  Callback(std::shared_ptr<const void> state, Call call) : state_(std::move(state)), call_(call) {}

  std::shared_ptr<const void> state_;
  Call call_ = nullptr;
};

template <class R, class... Arguments, class... Structs>
class TypedCallback<R(Arguments...), Structs...> {
 public:
  using Erased = Callback<R(typename detail::Opaque<Structs>::Pointer..., Arguments...)>;

  TypedCallback() = default;
  TypedCallback(std::nullptr_t) {}
  /// The casts are valid, because make_problem and make_data of the same family return the opaque
  /// pointers.
  template <class F, class = std::enable_if_t<!std::is_base_of<TypedCallback, F>::value>>
  TypedCallback(F f)
      : erased_(detail::shared_state(std::move(f)),
                [](const void* state, typename detail::Opaque<Structs>::Pointer... structs,
                   Arguments... arguments) -> R {
                  return (*static_cast<const F*>(state))(*static_cast<const Structs*>(structs)...,
                                                         std::forward<Arguments>(arguments)...);
                }) {}

  explicit operator bool() const { return static_cast<bool>(erased_); }
  R operator()(const Structs&... structs, Arguments... arguments) const {
    return erased_(&structs..., std::forward<Arguments>(arguments)...);
  }
  const Erased& erased() const { return erased_; }

 private:
  Erased erased_;
};

}  // namespace gpuexp
