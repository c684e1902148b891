// Messages for command lines that the parser refuses.
#pragma once

#include <string>

#include "cli/app.hpp"

namespace CLI {
class Error;
}  // namespace CLI

namespace gpuexp::cli {

/// The message for an error of parsing the program's arguments. It ends in a newline. It names the
/// nearest option of the subcommand for an unknown option, and says how to name a file whose name
/// begins with '-'.
std::string usage_message(const Command& app, const CLI::Error& error);

}  // namespace gpuexp::cli
