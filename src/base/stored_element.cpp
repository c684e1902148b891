#include "base/stored_element.hpp"

namespace gpuexp {

double to_double(const unsigned char* bytes, DataType type) {
  return stored_element(bytes, type, 0);
}

}  // namespace gpuexp
