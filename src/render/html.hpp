// HTML: text in which nothing is markup, and the elements that pages are made of.
#pragma once

#include <string>
#include <string_view>

namespace gpuexp {

/// Text for an element or for an attribute in double quotes: no character of it is markup, control
/// characters are spaces and bytes that are not UTF-8 '?'.
std::string escape_html(std::string_view text);

/// The same with its line breaks, for <pre>.
std::string escape_html_lines(std::string_view text);

/// "<p>text</p>" of what is text; of a `name` that is the program's own.
std::string html_element(std::string_view name, std::string_view text);

/// Bytes in base 64 (RFC 4648), from hexadecimal digits: how a content security policy names the
/// hash of a script.
std::string base64_of_hex(std::string_view hexadecimal);

}  // namespace gpuexp
