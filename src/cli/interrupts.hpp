// SIGINT and SIGTERM.
#pragma once

namespace gpuexp::cli {

/// From here on the first signal asks for an end after the launch in flight. A second one, at least
/// two seconds later, ends the process, in case that launch never returns; not at once, because
/// tools such as timeout(1) signal the process and its group.
void catch_interrupts();

/// From here on, the end of the process that started this one counts as a signal: a launcher that
/// is killed sends none.
void end_with_parent();

/// A signal has come.
bool interrupted();

}  // namespace gpuexp::cli
