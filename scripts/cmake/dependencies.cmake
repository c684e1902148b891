# Libraries that the project uses, each from the system if its version is suitable, else fetched at a
# pinned commit:
#
#   CLI11::CLI11, fmt::fmt, nlohmann_json::nlohmann_json
#   OpenSSL::Crypto  from the system only
#   gpuexp_catch2  Catch2 of major version 2 or 3 (GPUEXP_CATCH2_VERSION_MAJOR); the tests have their own main
#   gpuexp_zstd    libzstd, linked statically: compressed recordings and listings
#   gpuexp_zlib    zlib, linked statically: input files compressed by gzip
#   gpuexp_nvtx    NVTX 3 headers; GPUEXP_HAVE_NVTX is 0 if there are none, which is allowed only without CUDA

include(FetchContent)

# Fetched libraries are headers or are linked statically; none of their files are installed.
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
foreach(option FMT_INSTALL CLI11_INSTALL JSON_Install ZLIB_BUILD_EXAMPLES ZSTD_BUILD_PROGRAMS ZSTD_BUILD_SHARED ZSTD_BUILD_TESTS)
  set(${option} OFF)
endforeach()

# The minimum versions are those of Debian 12. Fetched versions are releases that compile with GCC 12.
FetchContent_Declare(CLI11
  GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
  GIT_TAG 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9  # v2.4.2; 2.5 prints help differently
  FIND_PACKAGE_ARGS 2.1.2)
FetchContent_Declare(fmt
  GIT_REPOSITORY https://github.com/fmtlib/fmt.git
  GIT_TAG 40626af88bd7df9a5fb80be7b25ac85b122d6c21  # 11.2.0
  FIND_PACKAGE_ARGS 9.1.0)
FetchContent_Declare(nlohmann_json
  GIT_REPOSITORY https://github.com/nlohmann/json.git
  GIT_TAG 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03  # v3.11.3
  FIND_PACKAGE_ARGS 3.11.2)
FetchContent_Declare(Catch2
  GIT_REPOSITORY https://github.com/catchorg/Catch2.git
  GIT_TAG fa43b77429ba76c462b1898d6cd2f2d7a9416b14  # v3.7.1
  FIND_PACKAGE_ARGS)  # no version, because no single request accepts both 2.13 and 3
FetchContent_Declare(zstd
  GIT_REPOSITORY https://github.com/facebook/zstd.git
  GIT_TAG 794ea1b0afca0f020f4e57b6732332231fb23c70  # v1.5.6
  SOURCE_SUBDIR build/cmake
  FIND_PACKAGE_ARGS 1.4)
FetchContent_Declare(ZLIB
  GIT_REPOSITORY https://github.com/madler/zlib.git
  GIT_TAG 51b7f2abdade71cd9bb0e7a373ef2610ec6f9daf  # v1.3.1
  FIND_PACKAGE_ARGS 1.2.11)
FetchContent_Declare(nvtx
  GIT_REPOSITORY https://github.com/NVIDIA/NVTX.git
  GIT_TAG e170594ac7cf1dac584da473d4ca9301087090c1  # v3.1.0
  SOURCE_SUBDIR none)  # only headers are used, so its build is not configured

# Fetched code is compiled without clang-tidy, and its headers are system headers, so that it causes no warnings.
# (With CMake 3.25.1, SYSTEM in FetchContent_Declare breaks the download.)
function(_gpuexp_make_available name target)
  set(CMAKE_CXX_CLANG_TIDY "")
  FetchContent_MakeAvailable(${name})
  if(${name}_FOUND)
    message(STATUS "${name} ${${name}_VERSION}: from the system")
    set(${name}_VERSION "${${name}_VERSION}" PARENT_SCOPE)
  else()
    FetchContent_GetProperties(${name} SOURCE_DIR source_dir)
    message(STATUS "${name}: fetched into ${source_dir}")
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(NOT aliased)
      set(aliased ${target})
    endif()
    set_target_properties(${aliased} PROPERTIES SYSTEM ON)
  endif()
endfunction()

_gpuexp_make_available(CLI11 CLI11::CLI11)
_gpuexp_make_available(fmt fmt::fmt)
_gpuexp_make_available(nlohmann_json nlohmann_json::nlohmann_json)
_gpuexp_make_available(zstd libzstd_static)
add_library(gpuexp_zstd INTERFACE)
if(TARGET zstd::libzstd_static)
  target_link_libraries(gpuexp_zstd INTERFACE zstd::libzstd_static)
else()
  target_link_libraries(gpuexp_zstd INTERFACE libzstd_static)
  target_include_directories(gpuexp_zstd SYSTEM INTERFACE "${zstd_SOURCE_DIR}/lib")
endif()

set(ZLIB_USE_STATIC_LIBS ON)
_gpuexp_make_available(ZLIB zlibstatic)
add_library(gpuexp_zlib INTERFACE)
if(TARGET ZLIB::ZLIB)
  target_link_libraries(gpuexp_zlib INTERFACE ZLIB::ZLIB)
else()
  target_link_libraries(gpuexp_zlib INTERFACE zlibstatic)
  FetchContent_GetProperties(ZLIB SOURCE_DIR zlib_source_dir BINARY_DIR zlib_binary_dir)
  target_include_directories(gpuexp_zlib SYSTEM INTERFACE "${zlib_source_dir}" "${zlib_binary_dir}")
endif()

find_package(OpenSSL 1.1.1 REQUIRED COMPONENTS Crypto)

if(GPUEXP_TESTS)
  _gpuexp_make_available(Catch2 Catch2::Catch2)
  add_library(gpuexp_catch2 INTERFACE)
  target_link_libraries(gpuexp_catch2 INTERFACE Catch2::Catch2)
  if(Catch2_VERSION VERSION_LESS 3 AND Catch2_VERSION)
    target_compile_definitions(gpuexp_catch2 INTERFACE GPUEXP_CATCH2_VERSION_MAJOR=2)
  else()
    target_compile_definitions(gpuexp_catch2 INTERFACE GPUEXP_CATCH2_VERSION_MAJOR=3)
  endif()
endif()

set(_gpuexp_nvtx_hints ${CUDAToolkit_INCLUDE_DIRS})
if(GPUEXP_NVCC)
  list(APPEND _gpuexp_nvtx_hints "${GPUEXP_NVCC}/../../include")
endif()
foreach(toolkit IN LISTS GPUEXP_VENV_TOOLKIT_DIRS)
  list(APPEND _gpuexp_nvtx_hints "${toolkit}/include")
endforeach()
find_path(GPUEXP_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h HINTS ${_gpuexp_nvtx_hints}
  DOC "Directory of nvtx3/nvToolsExt.h")
mark_as_advanced(GPUEXP_NVTX_INCLUDE_DIR)

add_library(gpuexp_nvtx INTERFACE)
set(_gpuexp_nvtx_include_dir "${GPUEXP_NVTX_INCLUDE_DIR}")
if(NOT _gpuexp_nvtx_include_dir AND GPUEXP_CUDA)
  FetchContent_MakeAvailable(nvtx)
  set(_gpuexp_nvtx_include_dir "${nvtx_SOURCE_DIR}/c/include")
endif()
if(_gpuexp_nvtx_include_dir)
  target_include_directories(gpuexp_nvtx SYSTEM INTERFACE "${_gpuexp_nvtx_include_dir}")
  target_link_libraries(gpuexp_nvtx INTERFACE ${CMAKE_DL_LIBS})
  target_compile_definitions(gpuexp_nvtx INTERFACE GPUEXP_HAVE_NVTX=1)
else()
  message(STATUS "NVTX: no headers found, built without")
  target_compile_definitions(gpuexp_nvtx INTERFACE GPUEXP_HAVE_NVTX=0)
endif()
