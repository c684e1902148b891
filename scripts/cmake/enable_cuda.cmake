# Enables CUDA with the nvcc that find_toolkit.cmake chose, and sets options common to all .cu files.

if(NOT GPUEXP_NVCC)
  message(FATAL_ERROR "GPUEXP_CUDA is ON, but no nvcc ${GPUEXP_MINIMUM_CUDA_VERSION} or later was found in CUDACXX, "
    "CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda. Run scripts/quickstart.sh, which installs what is missing, set "
    "CMAKE_CUDA_COMPILER, or configure with -DGPUEXP_CUDA=OFF.")
endif()
set(CMAKE_CUDA_COMPILER "${GPUEXP_NVCC}" CACHE FILEPATH "CUDA compiler")

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  include(default_architectures)
  gpuexp_default_architectures(_gpuexp_architectures)
  set(CMAKE_CUDA_ARCHITECTURES "${_gpuexp_architectures}" CACHE STRING
    "GPU architectures to compile for; the default suits the GPUs of the machine that configures")
endif()

# CMake 3.25 does not support C++20 for nvcc.
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS GPUEXP_MINIMUM_CUDA_VERSION)
  message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}; "
    "${GPUEXP_MINIMUM_CUDA_VERSION} or later is needed.")
endif()
# If a project requires CMake 3.25, its module marks the target CUDA::nvToolsExt as deprecated even if the target does not exist,
# which fails: CUDA 13 no longer has the library.
set(_gpuexp_required_version "${CMAKE_MINIMUM_REQUIRED_VERSION}")
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION "${_gpuexp_required_version}")
message(STATUS "CUDA ${CUDAToolkit_VERSION}: ${CMAKE_CUDA_COMPILER}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

# Finds a library that the binary loads at run time if it exists. Its directory goes into the run path, so that dlopen finds the
# library of the toolkit used for compiling. An installed program has no run path and searches the system's library directories,
# CUDA_HOME and /usr/local/cuda.
function(_gpuexp_find_runtime_library variable file doc)
  set(directories "${CUDAToolkit_LIBRARY_DIR}" "${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/lib64")
  foreach(toolkit IN LISTS GPUEXP_VENV_TOOLKIT_DIRS)
    list(APPEND directories "${toolkit}/lib")
  endforeach()
  find_path(${variable} "${file}" PATHS ${directories} NO_DEFAULT_PATH DOC "${doc}")
  mark_as_advanced(${variable})
  if(${variable})
    message(STATUS "${file}: ${${variable}}")
  else()
    message(STATUS "${file}: not beside the toolkit; looked for at run time in the system's directories")
    set(${variable} "" CACHE PATH "${doc}" FORCE)
  endif()
endfunction()

_gpuexp_find_runtime_library(GPUEXP_CUBLAS_DIR "libcublas.so.${CUDAToolkit_VERSION_MAJOR}"
  "Directory of cuBLAS, or empty")
# CUPTI's versioned file name ends in a year in CUDA 12 and in the toolkit's major version since CUDA 13.
_gpuexp_find_runtime_library(GPUEXP_CUPTI_DIR libcupti.so "Directory of CUPTI, or empty")
set(CMAKE_BUILD_RPATH ${GPUEXP_CUBLAS_DIR} ${GPUEXP_CUPTI_DIR})
list(REMOVE_DUPLICATES CMAKE_BUILD_RPATH)

if(NOT GPUEXP_CUOBJDUMP)
  message(WARNING "cuobjdump was not found, so this build knows no kernel's registers, shared memory and instructions "
    "without a GPU. Run scripts/quickstart.sh, which installs it, or set GPUEXP_CUOBJDUMP.")
elseif(NOT GPUEXP_NVDISASM)
  message(WARNING "nvdisasm was not found, so this build knows no kernel's instructions. Run scripts/quickstart.sh, "
    "which installs it, or set GPUEXP_NVDISASM.")
endif()
