# Finds nvcc, cuobjdump and nvdisasm of the system, or those that scripts/setup.sh installed:
#
#   GPUEXP_NVCC       nvcc 12.8 or later, or a false value
#   GPUEXP_CUOBJDUMP  cuobjdump, or a false value
#   GPUEXP_NVDISASM   nvdisasm, or a false value
#
# nvcc is the one that CMAKE_CUDA_COMPILER or the environment variable CUDACXX names; else the first recent enough one in
# CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda, and the virtual environment GPUEXP_VENV of scripts/setup.sh.
#
# Run as a script, `cmake -P find_toolkit.cmake` prints the tools as lines NAME=VALUE, so that shell scripts and the build use the
# same toolkit.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
endif()
include_guard()

# CUDA 12.8 introduced -static-global-template-stub, which the kernel resource table needs.
set(GPUEXP_MINIMUM_CUDA_VERSION 12.8)

get_filename_component(_gpuexp_source_dir "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(GPUEXP_VENV "${_gpuexp_source_dir}/build/venv" CACHE PATH
  "Virtual environment in which scripts/setup.sh installs the CUDA tools that the system lacks")
file(GLOB GPUEXP_VENV_TOOLKIT_DIRS "${GPUEXP_VENV}/lib/python3*/site-packages/nvidia/cu13")

function(gpuexp_nvcc_version out_version nvcc)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE output ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND output MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${out_version} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  else()
    set(${out_version} "" PARENT_SCOPE)
  endif()
endfunction()

function(gpuexp_is_recent_nvcc out_valid candidate)
  gpuexp_nvcc_version(version "${candidate}")
  if(NOT version OR version VERSION_LESS GPUEXP_MINIMUM_CUDA_VERSION)
    set(${out_valid} FALSE PARENT_SCOPE)
  endif()
endfunction()

if(CMAKE_CUDA_COMPILER)
  set(GPUEXP_NVCC "${CMAKE_CUDA_COMPILER}" CACHE FILEPATH "CUDA compiler")
elseif(DEFINED ENV{CUDACXX})
  find_program(GPUEXP_NVCC NAMES "$ENV{CUDACXX}" DOC "CUDA compiler")
endif()

set(_gpuexp_toolkit_hints "")
foreach(variable IN ITEMS CUDA_HOME CUDA_PATH)
  if(DEFINED ENV{${variable}})
    list(APPEND _gpuexp_toolkit_hints "$ENV{${variable}}/bin")
  endif()
endforeach()
set(_gpuexp_toolkit_paths /usr/local/cuda/bin)
foreach(toolkit IN LISTS GPUEXP_VENV_TOOLKIT_DIRS)
  list(APPEND _gpuexp_toolkit_paths "${toolkit}/bin")
endforeach()

find_program(GPUEXP_NVCC NAMES nvcc HINTS ${_gpuexp_toolkit_hints} PATHS ${_gpuexp_toolkit_paths}
  VALIDATOR gpuexp_is_recent_nvcc DOC "CUDA compiler")

# Searches nvcc's folder first: tools of an older toolkit cannot read objects of a newer compiler.
if(GPUEXP_NVCC)
  get_filename_component(_gpuexp_nvcc_dir "${GPUEXP_NVCC}" DIRECTORY)
  list(PREPEND _gpuexp_toolkit_hints "${_gpuexp_nvcc_dir}")
endif()
find_program(GPUEXP_CUOBJDUMP NAMES cuobjdump HINTS ${_gpuexp_toolkit_hints} PATHS ${_gpuexp_toolkit_paths}
  DOC "Tool that reads registers, shared memory and machine code out of compiled kernels")
if(GPUEXP_CUOBJDUMP)
  get_filename_component(_gpuexp_cuobjdump_dir "${GPUEXP_CUOBJDUMP}" DIRECTORY)
  list(PREPEND _gpuexp_toolkit_hints "${_gpuexp_cuobjdump_dir}")  # cuobjdump calls nvdisasm
endif()
find_program(GPUEXP_NVDISASM NAMES nvdisasm HINTS ${_gpuexp_toolkit_hints} PATHS ${_gpuexp_toolkit_paths}
  DOC "Disassembler of GPU machine code")
mark_as_advanced(GPUEXP_NVCC GPUEXP_CUOBJDUMP GPUEXP_NVDISASM GPUEXP_VENV)

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  set(_gpuexp_nvcc_version "")
  if(GPUEXP_NVCC)
    gpuexp_nvcc_version(_gpuexp_nvcc_version "${GPUEXP_NVCC}")
  endif()
  set(_gpuexp_report "nvcc_version=${_gpuexp_nvcc_version}")
  foreach(tool IN ITEMS NVCC CUOBJDUMP NVDISASM)
    string(TOLOWER "${tool}" name)
    if(GPUEXP_${tool})
      string(APPEND _gpuexp_report "\n${name}=${GPUEXP_${tool}}")
    else()
      string(APPEND _gpuexp_report "\n${name}=")
    endif()
  endforeach()
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${_gpuexp_report}")
endif()
