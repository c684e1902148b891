# gpuexp_warnings: the warnings that all of the project's own targets compile with.
#
# The strict set is for C++ alone: nvcc hands the host compiler generated code, in which -Wpedantic and
# -Wconversion report nvcc's own lines.
add_library(gpuexp_warnings INTERFACE)
target_compile_options(gpuexp_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wnon-virtual-dtor>
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler -Wall,-Wextra>"
  # A __host__ __device__ function that calls a __host__ one compiles with a warning and fails on the device.
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:--Werror cross-execution-space-call>")

# Host code waits for the GPU, for files and for the terminal: -O3 makes it no faster and its templates twice as slow to
# compile. Device code is optimised at nvcc's own -O3 whatever the host's level.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG")

if(GPUEXP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "GPUEXP_FUZZ needs libFuzzer, which comes with Clang: configure with the preset 'fuzz'.")
  endif()
  set(GPUEXP_SANITIZE ON)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# gpuexp_sanitizers: what is compiled or linked with the address and undefined-behaviour sanitizers.
add_library(gpuexp_sanitizers INTERFACE)
target_compile_options(gpuexp_sanitizers INTERFACE
  -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
target_link_options(gpuexp_sanitizers INTERFACE -fsanitize=address,undefined)

if(GPUEXP_SANITIZE)
  if(GPUEXP_CUDA)
    message(FATAL_ERROR "GPUEXP_SANITIZE is for the host code: configure with -DGPUEXP_CUDA=OFF, as the preset "
      "'host' does. Kernels are checked with compute-sanitizer, at run time.")
  endif()
  link_libraries(gpuexp_sanitizers)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports members of std::variant, std::function and std::regex as uninitialized where it inlines them, and
  # at -O1 the bytes of std::string's own buffer as out of bounds (its bug 105651).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Wno-array-bounds;-Wno-stringop-overflow>")
endif()

if(GPUEXP_CUDA)
  set(_gpuexp_cuda_flags
    # Host stubs of kernel templates get a symbol that other files can name: kernels/kernel_resources.cmake.
    -static-global-template-stub=false
    --expt-relaxed-constexpr
    --extended-lambda
    # Source lines for Nsight Compute and compute-sanitizer; the machine code stays the same.
    -lineinfo
    # Machine code is compressed to a fifth of its size, like PTX. The mode "size" saves another third, but takes 11 s for
    # the largest file. Compressed code needs a driver of CUDA 12.4 or later, which every toolkit of the project exceeds.
    -Xfatbin=-compress-all
    --compress-mode=balance
    # The two architectures of a file at a time: a change in one kernel file waits for both.
    --threads=2)
  include(CheckCompilerFlag)
  check_compiler_flag(CUDA "${_gpuexp_cuda_flags}" GPUEXP_NVCC_KNOWS_FLAGS)
  if(NOT GPUEXP_NVCC_KNOWS_FLAGS)
    list(JOIN _gpuexp_cuda_flags " " _gpuexp_cuda_flags)
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} (${CMAKE_CUDA_COMPILER_VERSION}) does not compile with "
      "${_gpuexp_cuda_flags}; CUDA ${GPUEXP_MINIMUM_CUDA_VERSION} and later do.")
  endif()
  foreach(flag IN LISTS _gpuexp_cuda_flags)
    add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:${flag}>")
  endforeach()
endif()
