// Callables of families, type-erased. In place of std::function, because every family file builds
// dozens of them and three compiler passes read each: <functional> and its instantiations were a
// third of what a family file costs to compile (docs/decisions/base.md has the figures). C++17,
// included by .cu files.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace gpuexp {

/// A callable of this signature, or none. Copies share what it captured, which they cannot change.
template <class Signature>
class Callback;

/// A Callback that a family file gives a function of its own structs, and everybody else calls with
/// opaque pointers to them.
template <class Signature, class... Structs>
class TypedCallback;

namespace detail {

template <class F>
void destroy(void* state) {
  delete static_cast<F*>(state);
}

/// One instantiation of shared_ptr for whatever is captured.
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
  /// The opaque pointers come from make_problem and make_data of the same family, so the casts are
  /// right by construction.
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
