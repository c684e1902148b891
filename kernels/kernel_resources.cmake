# gpuexp_add_kernel_resource_table(<target> [<kernels> [<relocatable>...]])
#
# Adds the object library <target>. Link it to the executable that the kernels are linked to. It defines two functions:
# - kernel_resource_table() of src/sass/kernel_resource.hpp: for each kernel in the object library <kernels> and in the
#   static libraries <relocatable>, and for each architecture, the registers, shared and local memory, instruction counts
#   by kind, and machine code with source lines.
# - kernel_source_table(): the text of the kernels' sources and of the files that the source lines refer to.
# Both tables are empty without <kernels>; without GPUEXP_CUOBJDUMP only the sources are present. Rows have no
# instructions if GPUEXP_NVDISASM, which cuobjdump calls, is missing or fails: CUDA 13's nvdisasm does not support compute
# capabilities below 7.5.
#
# Each object has its own part of the table, so that a change in one source reads only one object.
# Relocatable device code is final after its device link: each of its libraries has one source, and the image that CMake
# linked into the library is read. The tools' output remains next to the table; <source>.sass is the machine code listing.
# Templates need nvcc's -static-global-template-stub=false, so that a row finds its kernel (src/sass/kernel_table.hpp).

function(gpuexp_add_kernel_resource_table target)
  set(sources "")
  set(parts "")
  foreach(kernels IN LISTS ARGN)
    get_target_property(named ${kernels} SOURCES)
    foreach(source IN LISTS named)
      cmake_path(ABSOLUTE_PATH source)
      list(APPEND sources "${source}")
      if(GPUEXP_CUOBJDUMP)
        _gpuexp_add_kernel_part(part ${target} ${kernels} "${source}")
        list(APPEND parts "${part}")
      endif()
    endforeach()
  endforeach()
  set(table "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  set(code "${CMAKE_CURRENT_BINARY_DIR}/${target}.code")
  add_custom_command(OUTPUT "${table}" "${code}"
    COMMAND gpuexp_make_kernel_table table "${table}" "${code}" "${PROJECT_SOURCE_DIR}" ${sources} ${parts}
    DEPENDS gpuexp_make_kernel_table ${sources} ${parts}
    COMMENT "Writing the table of the kernels' registers, memory and instructions"
    VERBATIM)
  add_library(${target} OBJECT "${table}")
  if(parts)
    add_dependencies(${target} ${ARGN})  # make has no rule for the objects of another target
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
endfunction()

# Adds the commands that write the table's part for one source of <kernels>; sets <out_part> to the part's file.
function(_gpuexp_add_kernel_part out_part target kernels source)
  cmake_path(GET source FILENAME file)
  cmake_path(GET source STEM stem)
  string(REPLACE "." "[.]" file_regex "${file}")
  set(object "$<FILTER:$<TARGET_OBJECTS:${kernels}>,INCLUDE,/${file_regex}[.]o(bj)?$>")
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  file(MAKE_DIRECTORY "${directory}")
  set(dump "${directory}/${stem}")
  set(code "${object}")
  get_target_property(is_relocatable ${kernels} CUDA_SEPARABLE_COMPILATION)
  if(is_relocatable)
    set(code "${dump}.linked.o")
    add_custom_command(OUTPUT "${code}"
      COMMAND "${CMAKE_AR}" p "$<TARGET_FILE:${kernels}>" cmake_device_link${CMAKE_CUDA_OUTPUT_EXTENSION} > "${code}"
      DEPENDS ${kernels}
      COMMENT "Extracting the device-linked image of ${file}"
      VERBATIM)
  endif()
  add_custom_command(OUTPUT "${dump}.symbols" "${dump}.usage" "${dump}.elf"
    COMMAND "${CMAKE_NM}" --defined-only --extern-only "${object}" > "${dump}.symbols"
    COMMAND "${GPUEXP_CUOBJDUMP}" --dump-resource-usage "${code}" > "${dump}.usage"
    COMMAND "${GPUEXP_CUOBJDUMP}" --dump-elf "${code}" > "${dump}.elf"
    DEPENDS "${object}" "${code}"
    COMMENT "Reading the kernels' registers and memory of ${file}"
    VERBATIM)

  set(no_listing "${CMAKE_COMMAND}" -E true > "${dump}.sass")
  set(listing ${no_listing})
  if(GPUEXP_NVDISASM)
    cmake_path(GET GPUEXP_NVDISASM PARENT_PATH nvdisasm_directory)
    set(listing "${CMAKE_COMMAND}" -E env --modify "PATH=path_list_prepend:${nvdisasm_directory}"
      "${GPUEXP_CUOBJDUMP}" -sass "${code}" > "${dump}.sass" || ${no_listing})
  endif()
  add_custom_command(OUTPUT "${dump}.sass"
    COMMAND ${listing}
    DEPENDS "${code}"
    COMMENT "Reading the machine code of ${file}"
    VERBATIM)
  add_custom_command(OUTPUT "${dump}.part"
    COMMAND gpuexp_make_kernel_table part "${dump}.part" "${PROJECT_SOURCE_DIR}" "${dump}"
    DEPENDS gpuexp_make_kernel_table "${dump}.symbols" "${dump}.usage" "${dump}.sass" "${dump}.elf"
    COMMENT "Compressing the machine code of ${file}"
    VERBATIM)
  set(${out_part} "${dump}.part" PARENT_SCOPE)
endfunction()
