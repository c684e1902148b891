# gpuexp_add_kernel_resource_table(<target> [<kernels>])
#
# Adds the object library <target>, which defines kernel_resource_table() of src/core/kernel_resource.hpp for the
# kernels in the object library <kernels>: per kernel and architecture its registers, shared and local memory, read
# with cuobjdump once the objects are compiled. Link it to the executable that the kernels are linked to. The
# table is empty without <kernels> or without GPUEXP_CUOBJDUMP.
#
# A row holds the address of the kernel's host stub, so that whoever launches the kernel finds its row by the pointer
# at hand. The generated file declares each stub by its symbol, which is the kernel's own mangled name:
#
#   extern "C" void kernel_0() __asm__("_ZN6gpuexp4copy6scalarEPfPKfl");
#
# A kernel without such a symbol stops the build: a static one (its stub is local to its object) and a template whose
# argument is a lambda (nvcc gives the stub another name). Kernels in unnamed namespaces do have one, under a name
# that nvcc makes unique. Templates need nvcc's -static-global-template-stub=false.
#
# This file is both: included, it declares the function; run as a script, it writes the table.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(_gpuexp_kernel_resources_script "${CMAKE_CURRENT_LIST_FILE}" CACHE INTERNAL "")

  function(gpuexp_add_kernel_resource_table target)
    set(table "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
    set(object_list "${CMAKE_CURRENT_BINARY_DIR}/${target}_objects.txt")
    set(objects "")
    if(ARGC GREATER 1 AND GPUEXP_CUOBJDUMP)
      set(objects "$<TARGET_OBJECTS:${ARGV1}>")
    endif()
    file(GENERATE OUTPUT "${object_list}" CONTENT "$<JOIN:${objects},\n>\n")
    add_custom_command(OUTPUT "${table}"
      COMMAND "${CMAKE_COMMAND}"
        "-DOBJECT_LIST=${object_list}"
        "-DOUTPUT=${table}"
        "-DCUOBJDUMP=${GPUEXP_CUOBJDUMP}"
        "-DNM=${CMAKE_NM}"
        -P "${_gpuexp_kernel_resources_script}"
      DEPENDS "${_gpuexp_kernel_resources_script}" "${object_list}" ${objects}
      COMMENT "Reading the kernels' registers and shared memory"
      VERBATIM)
    add_library(${target} OBJECT "${table}")
    if(objects)
      add_dependencies(${target} ${ARGV1})  # make knows no rule for another target's objects
    endif()
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.25)

# Kernels of libraries that families call. Their authors may keep a stub to themselves; such a kernel has no row.
set(library_kernel_regex "^_ZN(3cub|6thrust|4cuda)")

# From Hopper on, the size of a kernel's shared memory section starts with the 1 KiB that the system keeps in each
# block; ptxas -v and the documentation of occupancy count it apart, and so does the table.
set(reserved_shared_since 90)
set(reserved_shared_bytes 1024)

function(run_tool out_text)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE error RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${status}): ${output}${error}")
  endif()
  set(${out_text} "${output}" PARENT_SCOPE)
endfunction()

# Bytes or registers after <key>: in a line such as " REG:12 STACK:0 SHARED:1536 LOCAL:0 CONSTANT[0]:536".
function(read_number out_value line key)
  if(NOT line MATCHES " ${key}:([0-9]+)")
    message(FATAL_ERROR "${CUOBJDUMP} printed no ${key} in: ${line}")
  endif()
  set(${out_value} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# Appends the rows of one object, each "name architecture registers shared local stack", to the global property
# ROWS, and says in OBJECT_OF_<row's key> where they come from.
function(read_object object)
  run_tool(symbols "${NM}" --defined-only --extern-only "${object}")
  run_tool(usage "${CUOBJDUMP}" --dump-resource-usage "${object}")
  string(REGEX MATCHALL "[^\n]+" lines "${usage}")
  set(architecture "")
  set(name "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^arch = sm_([0-9]+)")
      set(architecture "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^ Function ([^:]+):")
      set(name "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^ +REG:" AND name)
      add_row("${object}" "${symbols}" "${name}" "${architecture}" "${line}")
      set(name "")
    endif()
  endforeach()
endfunction()

function(add_row object symbols name architecture line)
  string(FIND "${symbols}" " T ${name}\n" strong)
  string(FIND "${symbols}" " W ${name}\n" weak)
  if(strong EQUAL -1 AND weak EQUAL -1)
    if(name MATCHES "${library_kernel_regex}")
      return()
    endif()
    message(FATAL_ERROR "The kernel ${name} in ${object} has no host symbol of its name, so its registers and shared "
      "memory cannot be looked up: give it external linkage (not static), and named types as template arguments "
      "(no lambda).")
  endif()
  read_number(registers "${line}" REG)
  read_number(shared "${line}" SHARED)
  read_number(local "${line}" LOCAL)
  read_number(stack "${line}" STACK)
  if(architecture GREATER_EQUAL reserved_shared_since AND shared GREATER_EQUAL reserved_shared_bytes)
    math(EXPR shared "${shared} - ${reserved_shared_bytes}")
  endif()
  set(row "${name} ${architecture} ${registers} ${shared} ${local} ${stack}")

  # One template may be instantiated in two objects. The linker keeps one stub, so which kernel a launch runs is
  # chance; that is harmless only while both are the same.
  get_property(known GLOBAL PROPERTY "ROW ${name} ${architecture}")
  if(NOT known)
    set_property(GLOBAL PROPERTY "ROW ${name} ${architecture}" "${row}")
    set_property(GLOBAL PROPERTY "OBJECT ${name} ${architecture}" "${object}")
    set_property(GLOBAL APPEND PROPERTY ROWS "${row}")
  elseif(NOT known STREQUAL row)
    get_property(other GLOBAL PROPERTY "OBJECT ${name} ${architecture}")
    message(FATAL_ERROR "The kernel ${name} differs between ${other} and ${object}, and the linker keeps one of them: "
      "give each its own namespace.\n  ${known}\n  ${row}")
  endif()
endfunction()

function(write_table)
  get_property(rows GLOBAL PROPERTY ROWS)
  list(SORT rows COMPARE NATURAL)
  set(declarations "")
  set(entries "")
  set(previous "")
  set(index -1)
  foreach(row IN LISTS rows)
    string(REPLACE " " ";" row "${row}")
    list(GET row 0 name)
    list(SUBLIST row 1 -1 numbers)
    if(NOT name STREQUAL previous)
      math(EXPR index "${index} + 1")
      string(APPEND declarations "extern \"C\" void kernel_${index}() __asm__(\"${name}\");\n")
      set(previous "${name}")
    endif()
    list(JOIN numbers ", " numbers)
    string(APPEND entries "    {reinterpret_cast<const void*>(&kernel_${index}), \"${name}\", ${numbers}},\n")
  endforeach()

  set(text "// Written by ${CMAKE_CURRENT_LIST_FILE}.\n#include \"core/kernel_resource.hpp\"\n\n")
  if(rows)
    list(LENGTH rows count)
    string(APPEND text "${declarations}\nnamespace gpuexp {\n\n"
      "const KernelResource* kernel_resource_table(std::size_t& count) {\n"
      "  static const KernelResource table[] = {\n${entries}  };\n"
      "  count = ${count};\n  return table;\n}\n\n}  // namespace gpuexp\n")
  else()
    string(APPEND text "namespace gpuexp {\n\n"
      "const KernelResource* kernel_resource_table(std::size_t& count) {\n"
      "  count = 0;\n  return nullptr;\n}\n\n}  // namespace gpuexp\n")
  endif()
  file(WRITE "${OUTPUT}" "${text}")
endfunction()

file(STRINGS "${OBJECT_LIST}" objects)
foreach(object IN LISTS objects)
  read_object("${object}")
endforeach()
write_table()
