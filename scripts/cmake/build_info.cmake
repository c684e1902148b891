# gpuexp_build_info: version, commit and compilers of this build, as constants in "build_info.hpp" (namespace
# gpuexp::build_info).
#
# Every build checks the header and rewrites it only if its content changes, so that a commit recompiles only the files that
# include it. Include it from few files.
#
# Included, this file declares the target; run as a script, it writes the header.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  find_package(Git QUIET)
  set(_gpuexp_build_info_dir "${CMAKE_BINARY_DIR}/generated/build_info")
  list(JOIN CMAKE_CUDA_ARCHITECTURES "," _gpuexp_architectures)  # commas, because a command line splits at ';'
  add_custom_target(gpuexp_build_info_header
    COMMAND "${CMAKE_COMMAND}"
      "-DOUTPUT=${_gpuexp_build_info_dir}/build_info.hpp"
      "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
      "-DGIT=${GIT_EXECUTABLE}"
      "-DVERSION=${PROJECT_VERSION}"
      "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}"
      "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
      "-DCUDA_COMPILER_VERSION=${CMAKE_CUDA_COMPILER_VERSION}"
      "-DCUDA_ARCHITECTURES=${_gpuexp_architectures}"
      -P "${CMAKE_CURRENT_LIST_FILE}"
    BYPRODUCTS "${_gpuexp_build_info_dir}/build_info.hpp"
    COMMENT "Looking at the commit"
    VERBATIM)
  add_library(gpuexp_build_info INTERFACE)
  target_include_directories(gpuexp_build_info SYSTEM INTERFACE "${_gpuexp_build_info_dir}")
  add_dependencies(gpuexp_build_info gpuexp_build_info_header)
  return()
endif()

cmake_minimum_required(VERSION 3.25)

function(run_git out_text)
  execute_process(COMMAND "${GIT}" -C "${SOURCE_DIR}" ${ARGN}
    OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(${out_text} "${text}" PARENT_SCOPE)
  else()
    set(${out_text} "" PARENT_SCOPE)
  endif()
endfunction()

set(GIT_COMMIT "unknown")
set(GIT_DIRTY false)
if(GIT)
  # An unpacked release may be inside another repository, whose commit does not describe it.
  run_git(prefix rev-parse --show-prefix)
  run_git(commit rev-parse HEAD)
  if(commit AND prefix STREQUAL "")
    set(GIT_COMMIT "${commit}")
    run_git(changes status --porcelain --untracked-files=no)
    if(changes)
      set(GIT_DIRTY true)
    endif()
  endif()
endif()

file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#pragma once

#include <string_view>

// What this binary was built from and with. Texts that do not apply are empty.
namespace gpuexp::build_info {

inline constexpr std::string_view git_commit = "@GIT_COMMIT@";  // 40 hexadecimal digits, or "unknown"
inline constexpr bool git_dirty = @GIT_DIRTY@;  // tracked files differ from the commit
inline constexpr std::string_view version = "@VERSION@";
inline constexpr std::string_view build_type = "@BUILD_TYPE@";
inline constexpr std::string_view compiler = "@COMPILER@";
inline constexpr std::string_view cuda_compiler_version = "@CUDA_COMPILER_VERSION@";
inline constexpr std::string_view cuda_architectures = "@CUDA_ARCHITECTURES@";  // separated by commas

}  // namespace gpuexp::build_info
]])
