#pragma once

#include <cstddef>
#include <vector>

namespace gpuexp {

/// A queue in contiguous storage, which is faster than std::deque: a queue holds few elements, and
/// millions of elements pass through it.
template <class T>
class ShortQueue {
 public:
  const T* begin() const { return elements_.data() + first_; }
  const T* end() const { return elements_.data() + elements_.size(); }
  std::size_t size() const { return elements_.size() - first_; }
  bool empty() const { return size() == 0; }
  const T& front() const { return *begin(); }
  const T& operator[](std::size_t i) const { return begin()[i]; }

  void push_back(const T& element) { elements_.push_back(element); }
  /// Moves the elements to the start of the storage if at least 64 elements, and at least as many
  /// as remain, have been removed.
  void pop_front() {
    constexpr std::size_t kMinErased = 64;
    if (++first_ < kMinErased || first_ < size()) return;
    elements_.erase(elements_.begin(), elements_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

 private:
  std::vector<T> elements_;
  std::size_t first_ = 0;
};

}  // namespace gpuexp
