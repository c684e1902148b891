# gpuexp_warnings: warning options of the project's own targets.
#
# The strict options apply only to C++: in the host code that nvcc generates, -Wpedantic and -Wconversion report
# nvcc's own lines.
add_library(gpuexp_warnings INTERFACE)
target_compile_options(gpuexp_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wnon-virtual-dtor>
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler -Wall,-Wextra>"
  # A __host__ __device__ function that calls a __host__ function compiles with a warning and fails on the device.
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:--Werror cross-execution-space-call>")

# Host code mostly waits for the GPU, files and the terminal: -O3 does not make it faster, and its templates take twice as long to
# compile. nvcc optimizes device code with -O3 regardless of the host's level.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG")

if(GPUEXP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "GPUEXP_FUZZ needs libFuzzer, which comes with Clang: configure with the preset 'fuzz'.")
  endif()
  set(GPUEXP_SANITIZE ON)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# gpuexp_sanitizers: compile and link options of the address and undefined-behaviour sanitizers.
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
  # GCC 12 falsely reports inlined members of std::variant, std::function and std::regex as uninitialized, and at -O1
  # accesses to std::string's internal buffer as out of bounds (GCC bug 105651).
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
    # Compresses machine code and PTX to a fifth of their size. The mode "size" saves another third, but takes 11 s for the
    # largest file. Compressed code needs a driver of CUDA 12.4 or later; every toolkit of the project needs a later one.
    -Xfatbin=-compress-all
    --compress-mode=balance
    # Compiles both architectures of a file at the same time, which shortens the wait after a change in one kernel file.
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
