#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace gpuexp {

class ChannelClosed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LineBuffer {
 public:
  void append(std::string_view bytes) { text_.append(bytes); }
  /// The next complete line, without its newline, if any.
  std::optional<std::string> next();

 private:
  std::string text_;
  std::size_t begin_ = 0;  ///< start of the text that next() has not returned yet
};

/// One end of a connected stream socket. Owns the descriptor.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Sends a line, which must not contain a newline. Throws ChannelClosed.
  void send(std::string_view line);

  /// The next line. Empty if no line is complete within `timeout_s`, or once `give_up`, which is
  /// called repeatedly, returns true. Throws ChannelClosed.
  std::optional<std::string> receive(double timeout_s, const std::function<bool()>& give_up);

  std::string receive();

  void close();

  /// -1 after close().
  int descriptor() const { return descriptor_; }
  /// Bytes that receive() has read but not returned, for a caller that then reads the descriptor
  /// itself.
  LineBuffer take_received() { return std::exchange(received_, {}); }

 private:
  bool wait_readable(double timeout_s) const;
  void read_some();

  int descriptor_;
  LineBuffer received_;
};

}  // namespace gpuexp
