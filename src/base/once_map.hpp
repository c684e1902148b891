// Values that several threads compute once.
#pragma once

#include <exception>
#include <future>
#include <map>
#include <mutex>

namespace gpuexp {

/// The first thread that requests the value of a key computes it, and others that request it wait.
/// Values of different keys are computed concurrently. A failed computation is not repeated.
template <class Key, class Value>
class OnceMap {
 public:
  /// The value, which stays valid as long as the map. Throws what compute() threw for the key.
  template <class Compute>
  const Value& get(const Key& key, const Compute& compute) {
    std::promise<Value> promise;
    std::unique_lock lock(mutex_);
    const auto [entry, is_new] = values_.try_emplace(key);
    std::shared_future<Value>& value = entry->second;  // entries of a map stay where they are
    if (is_new) value = promise.get_future().share();
    lock.unlock();
    if (is_new) {
      try {
        promise.set_value(compute());
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }
    return value.get();
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_future<Value>> values_;
};

}  // namespace gpuexp
