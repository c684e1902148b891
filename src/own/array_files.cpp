#include "own/array_files.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/input_error.hpp"
#include "base/input_file.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "own/parameter_types.hpp"

namespace gpuexp::own {

namespace {

/// "(3, 4)", as NumPy writes shapes.
std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// What a file must have; `types` are texts of types.
void check_header(const std::string& declared_in, const DeclaredArray& array,
                  const NpyHeader& header, const std::string& buffer,
                  const std::vector<std::string>& types, const std::vector<std::int64_t>& extents) {
  const bool has_type = std::ranges::find(types, text_of(header.type)) != types.end();
  if (has_type && header.shape == extents) return;
  fail(declared_in, array.place,
       fmt::format("{} has elements of type {} and shape {}; expected {} and shape {}, as {} is "
                   "declared",
                   shorten(array.file), text_of(header.type), shape_text(header.shape),
                   fmt::join(types, " or "), shape_text(extents), buffer));
}

}  // namespace

std::filesystem::path ArrayFiles::path_of(const DeclaredArray& array) const {
  return std::filesystem::absolute(folder_ / array.file).lexically_normal();
}

template <class Read>
auto ArrayFiles::at_file(const DeclaredArray& array, const Read& read) const {
  try {
    return read(path_of(array).string());
  } catch (const InputError& error) {
    fail(declared_in_, array.place, error.what());
  }
}

NpyHeader ArrayFiles::header(const DeclaredArray& array) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(path_of(array));
  if (found != files_.end()) return found->second.elements->header;
  return at_file(array, [](const std::string& path) {
    InputFile in(path_to_read(path));
    return read_npy_header(in, path);
  });
}

std::shared_ptr<const NpyArray> ArrayFiles::elements(const DeclaredArray& array) {
  const std::lock_guard lock(mutex_);
  File& file = files_[path_of(array)];
  if (file.elements) return file.elements;
  file.elements = at_file(array, [](const std::string& path) {
    InputFile in(path_to_read(path));
    auto read = std::make_shared<const NpyArray>(read_npy(in, path));
    check_as_planned(path, in.identity());
    return read;
  });
  return file.elements;
}

std::shared_ptr<const std::vector<double>> ArrayFiles::numbers(const DeclaredArray& array) {
  const std::shared_ptr<const NpyArray> read = elements(array);
  const std::lock_guard lock(mutex_);
  File& file = files_[path_of(array)];
  if (!file.numbers) file.numbers = std::make_shared<const std::vector<double>>(read->numbers());
  return file.numbers;
}

void check_contents(const std::string& declared_in, const DeclaredArray& array,
                    const NpyHeader& header, const std::string& buffer, DataType type,
                    const std::vector<std::int64_t>& extents) {
  check_header(declared_in, array, header, buffer, npy_types_of(type), extents);
}

void check_expected(const std::string& declared_in, const DeclaredArray& array,
                    const NpyHeader& header, const std::string& buffer, DataType type,
                    const std::vector<std::int64_t>& extents) {
  std::vector<std::string> types = npy_types_of(type);
  const auto add = [&](NpyType wider) {
    if (!has_elements_of(wider, type)) types.push_back(text_of(wider));
  };
  if (is_integer(type)) add(NpyType::int64);
  if (!is_integer(type) && size_of(type) < sizeof(float)) add(NpyType::float32);
  add(NpyType::float64);
  check_header(declared_in, array, header, buffer, types, extents);
}

}  // namespace gpuexp::own
