# gpuexp_default_architectures(<out>): the value of CMAKE_CUDA_ARCHITECTURES for this machine.
#
# Machine code for the GPUs present, else for Hopper (9.0a), and PTX for 8.0, which the driver compiles at load time for all
# newer GPUs. The preset "distribution" builds machine code for every architecture.

# Distinct compute capabilities ("9.0") of the GPUs that nvidia-smi lists; empty if there is no GPU.
function(_gpuexp_compute_capabilities out_list)
  set(${out_list} "" PARENT_SCOPE)
  find_program(GPUEXP_NVIDIA_SMI nvidia-smi PATHS /usr/lib/wsl/lib)
  mark_as_advanced(GPUEXP_NVIDIA_SMI)
  if(NOT GPUEXP_NVIDIA_SMI)
    return()
  endif()
  execute_process(COMMAND "${GPUEXP_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE output ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${output}")
    list(REMOVE_DUPLICATES found)
    set(${out_list} "${found}" PARENT_SCOPE)
  endif()
endfunction()

function(gpuexp_default_architectures out_architectures)
  set(portable 90a-real)
  _gpuexp_compute_capabilities(present)
  execute_process(COMMAND "${GPUEXP_NVCC}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  set(architectures "")
  foreach(compute_capability IN LISTS present)
    string(REPLACE "." "" number "${compute_capability}")
    if(NOT known MATCHES "compute_${number}(\n|$)")
      message(WARNING "${GPUEXP_NVCC} cannot compile for compute capability ${compute_capability} of the GPU "
        "here; compiling for ${portable} instead, and PTX, which runs on GPUs of compute capability 8.0 and later")
      set(architectures "")
      break()
    endif()
    # wgmma and other Hopper-specific features need sm_90a, which runs on every GPU of compute capability 9.0.
    string(REGEX REPLACE "^90$" 90a number "${number}")
    list(APPEND architectures "${number}-real")
  endforeach()
  if(NOT architectures)
    set(architectures ${portable})
  endif()
  set(${out_architectures} "${architectures};80-virtual" PARENT_SCOPE)
endfunction()
