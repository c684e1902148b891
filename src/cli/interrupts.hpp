// SIGINT and SIGTERM.
#pragma once

namespace gpuexp::cli {

/// From here on the first signal asks for an end after the launch in flight. A second one, at least
/// two seconds later, ends the process, in case that launch never returns; not at once, because
/// tools such as timeout(1) signal the process and its group.
void catch_interrupts();

/// A signal has come.
bool interrupted();

}  // namespace gpuexp::cli
