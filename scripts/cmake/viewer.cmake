# Embeds the template of HTML pages (src/render/viewer) and Chart.js into the program: GPUEXP_VIEWER_SOURCE defines the strings
# that src/render/viewer.hpp declares. An edit of one of the files makes CMake run again.
#
# Chart.js 3.9.1 comes from Debian's package libjs-chart.js and is not in this repository. A build without it succeeds with a
# warning; its pages have no charts and say so.

find_file(GPUEXP_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_CMAKE_FIND_ROOT_PATH
  DOC "Chart.js 3.9.1, minified: Debian's package libjs-chart.js")
mark_as_advanced(GPUEXP_CHART_JS)

# Sets `name` to the concatenated content of the given template files, as C++ string literals.
function(_gpuexp_read_viewer name)
  set(text "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src/render/viewer")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" content)
    string(APPEND text "R\"GPUEXP(${content})GPUEXP\"\n")
  endforeach()
  set(${name} "${text}" PARENT_SCOPE)
endfunction()

set(_gpuexp_scripts charts.js figures.js summary.js viewer.js)
if(GPUEXP_CHART_JS)
  list(PREPEND _gpuexp_scripts "${GPUEXP_CHART_JS}")
else()
  message(WARNING "Chart.js was not found: pages of report --format html and compare --format html will have no charts. "
    "Install Debian's package (apt-get install libjs-chart.js) or set GPUEXP_CHART_JS to a chart.min.js of version 3, and "
    "configure again.")
endif()
_gpuexp_read_viewer(_gpuexp_page page.html)
_gpuexp_read_viewer(_gpuexp_style style.css)
_gpuexp_read_viewer(_gpuexp_script ${_gpuexp_scripts})
set(GPUEXP_VIEWER_SOURCE "${CMAKE_BINARY_DIR}/generated/viewer_texts.cpp")
file(CONFIGURE OUTPUT "${GPUEXP_VIEWER_SOURCE}" @ONLY CONTENT [[
#include "render/viewer.hpp"

namespace gpuexp {

const std::string_view kViewerPage = @_gpuexp_page@;
const std::string_view kViewerStyle = @_gpuexp_style@;
const std::string_view kViewerScript = @_gpuexp_script@;

}  // namespace gpuexp
]])
