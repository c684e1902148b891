// Lines of text between two processes.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace gpuexp {

/// The other end is gone.
class ChannelClosed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes as they come, cut into lines.
class LineBuffer {
 public:
  void append(std::string_view bytes) { text_.append(bytes); }
  /// The next line that is complete, without its newline.
  std::optional<std::string> next();

 private:
  std::string text_;
  std::size_t begin_ = 0;  ///< of what next() has not returned
};

/// One end of a connected stream socket, which it owns.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Sends a line; `line` holds no newline. Throws ChannelClosed.
  void send(std::string_view line);

  /// The next line; empty when none is complete within `timeout_s`, or when `give_up`, asked now
  /// and then, returns true. Throws ChannelClosed.
  std::optional<std::string> receive(double timeout_s, const std::function<bool()>& give_up);

  /// The next line, however long it takes. Throws ChannelClosed.
  std::string receive();

  void close();

  /// Of who polls it, or reads from it; -1 once it is closed.
  int descriptor() const { return descriptor_; }
  /// What was read and not yet received, for who goes on to read from the descriptor.
  LineBuffer take_received() { return std::exchange(received_, {}); }

 private:
  bool wait_readable(double timeout_s) const;
  void read_some();

  int descriptor_;
  LineBuffer received_;
};

}  // namespace gpuexp
