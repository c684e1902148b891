# Enables CUDA with the nvcc that find_toolkit.cmake chose, and sets what all .cu files share.

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

# CMake 3.25 knows no C++20 for nvcc.
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS GPUEXP_MINIMUM_CUDA_VERSION)
  message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}; "
    "${GPUEXP_MINIMUM_CUDA_VERSION} or later is needed.")
endif()
# For projects that require CMake 3.25, the module of CMake 3.25 marks the target CUDA::nvToolsExt as deprecated, also
# when there is none to mark: CUDA 13 has dropped the library.
set(_gpuexp_required_version "${CMAKE_MINIMUM_REQUIRED_VERSION}")
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION "${_gpuexp_required_version}")
message(STATUS "CUDA ${CUDAToolkit_VERSION}: ${CMAKE_CUDA_COMPILER}, architectures ${CMAKE_CUDA_ARCHITECTURES}")

# Libraries that the binary loads at run time where they exist, and does without elsewhere. Their directories
# go into its run path, so that dlopen finds those of the toolkit compiled with; an installed program has none and looks
# where the machine has its libraries, in CUDA_HOME and in /usr/local/cuda.
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
# CUPTI's file name carries its own year in CUDA 12, and the toolkit's major version since CUDA 13.
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
