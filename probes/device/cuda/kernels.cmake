# What nvcc makes of the kernels: fatbins of machine code, and PTX for every other GPU.

# Machine code for the oldest GPU of every generation that this toolkit knows: code for 8.0 runs on 8.6 and 8.9 as well.
# A GPU that has none (embedded ones, generations yet to come) gets the PTX.
set(GPUTOPO_CUDA_ARCHITECTURES "" CACHE STRING
    "Compute capabilities to build, such as 80;90, or 'native' for this machine's GPUs (default: one a generation)")
execute_process(COMMAND ${GPUTOPO_NVCC} --list-gpu-code OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "sm_[0-9]+" known "${listed}")
list(TRANSFORM known REPLACE "sm_" "")
list(SORT known COMPARE NATURAL)
set(architectures ${GPUTOPO_CUDA_ARCHITECTURES})
if(GPUTOPO_CUDA_ARCHITECTURES STREQUAL "native")
  include(native_architectures.cmake)
  list(GET known -1 newest)
  gputopo_native_architectures(architectures "${known}" "90;${newest}")
endif()
set(oldest_for_ptx "")
foreach(architecture IN LISTS known)
  math(EXPR generation "${architecture} / 10")
  if(NOT GPUTOPO_CUDA_ARCHITECTURES AND NOT generation STREQUAL "${previous_generation}")
    list(APPEND architectures ${architecture})
    set(previous_generation ${generation})
  endif()
  if(NOT oldest_for_ptx AND architecture GREATER_EQUAL 70)
    set(oldest_for_ptx ${architecture})
  endif()
endforeach()
list(SORT architectures COMPARE NATURAL)
include(virtual_architecture.cmake)
message(STATUS "gputopo: cuda device for ${architectures} by ${GPUTOPO_NVCC}")

file(GLOB kernel_headers CONFIGURE_DEPENDS ${kernels}/*.cuh ${kernels}/*.hpp)
file(MAKE_DIRECTORY ${ptx_folder})
set(portable_ptx ${CMAKE_CURRENT_SOURCE_DIR}/portable_ptx.cmake)
set(kernel_fatbin ${CMAKE_CURRENT_SOURCE_DIR}/kernel_fatbin.cmake)
set(kept_code ${CMAKE_CURRENT_BINARY_DIR})  # a folder each for machine code by itself, for a test
foreach(variant chase chase_execute chase_store chase_banks chase_code chase_held_code chase_paged_code stream work)
  set(source ${kernels}/chase.cu)
  set(defines "")
  if(variant STREQUAL "chase_execute")
    set(defines -DGPUTOPO_KERNEL_EXECUTE)
  elseif(variant STREQUAL "chase_store")
    set(defines -DGPUTOPO_KERNEL_STORE)
  elseif(variant STREQUAL "chase_banks")
    set(source ${kernels}/banks.cu)
  elseif(variant STREQUAL "chase_code")
    set(source ${kernels}/code.cu)
  elseif(variant STREQUAL "chase_held_code")
    set(source ${kernels}/code.cu)
    set(defines -DGPUTOPO_KERNEL_HELD_CODE)
  elseif(variant STREQUAL "chase_paged_code")
    set(source ${kernels}/code.cu)
    set(defines -DGPUTOPO_KERNEL_PAGED_CODE)
  elseif(variant MATCHES "stream|work")
    set(source ${kernels}/${variant}.cu)
  endif()
  gputopo_thresholds(${source} ${PROJECT_SOURCE_DIR}/probes thresholds)
  gputopo_gencode("${architectures}" "${thresholds}" gencode)
  set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/${variant}.fatbin)
  set(nvcc_command ${GPUTOPO_NVCC} -std=c++17 -O3 --threads 2 -Wno-deprecated-gpu-targets -Xptxas -warn-spills
    -I${PROJECT_SOURCE_DIR}/probes ${defines} ${gencode} -fatbin ${source} -o ${fatbin})
  set(kept "")
  if(variant MATCHES "^chase_(held_)?code$")
    set(kept ${kept_code}/${variant})
    list(APPEND nvcc_command --keep --keep-dir ${kept})
  endif()
  add_custom_command(OUTPUT ${fatbin}
    COMMAND ${CMAKE_COMMAND} "-DNVCC_COMMAND=${nvcc_command}" -DLOG=${fatbin}.log -DKEPT=${kept} -P ${kernel_fatbin}
    DEPENDS ${source} ${kernel_headers} ${kernel_fatbin}
    COMMENT "Compiling ${variant} for the GPU architectures"
    VERBATIM)
  set(ptx ${ptx_folder}/${variant}.ptx)
  add_custom_command(OUTPUT ${ptx}
    COMMAND ${CMAKE_COMMAND} -DNVCC=${GPUTOPO_NVCC} -DSOURCE=${source} -DOUTPUT=${ptx} -DDEFINES=${defines}
            -DINCLUDE=${PROJECT_SOURCE_DIR}/probes -DARCHITECTURE=${oldest_for_ptx} -P ${portable_ptx}
    DEPENDS ${source} ${kernel_headers} ${portable_ptx}
    COMMENT "Compiling ${variant} to PTX"
    VERBATIM)
  list(APPEND images ${fatbin} ${ptx})
endforeach()
list(APPEND image_definitions GPUTOPO_FATBIN_FOLDER="${CMAKE_CURRENT_BINARY_DIR}")
add_custom_target(gputopo_kernels DEPENDS ${images})

# What a kernel spills lies in local memory and passes L1: a few registers too many look like a smaller cache. Workloads
# of stated registers spill because they are meant to.
foreach(variant chase chase_execute chase_store chase_banks chase_code chase_held_code chase_paged_code stream)
  add_test(NAME Kernels.SpillNothing.${variant}
    COMMAND ${CMAKE_COMMAND} -DLOG=${CMAKE_CURRENT_BINARY_DIR}/${variant}.fatbin.log
            -P ${CMAKE_CURRENT_SOURCE_DIR}/check_spills.cmake)
endforeach()

# Where blocks of code lie is the assembler's doing.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND GPUTOPO_BUILD_TESTS)
  list(GET architectures -1 newest)
  set(checked 90 ${newest})
  list(REMOVE_DUPLICATES checked)
  foreach(architecture IN LISTS checked)
    add_test(NAME Kernels.BlocksOfCodeLieOnLines_${architecture}
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/device/blocks_of_code.py ${GPUTOPO_NVCC}
              ${PROJECT_SOURCE_DIR}/probes ${kernels}/code.cu ${architecture} ${kept_code}/chase_code)
    add_test(NAME Kernels.BlocksOfHeldCodeLieOnLines_${architecture}
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/device/blocks_of_code.py ${GPUTOPO_NVCC}
              ${PROJECT_SOURCE_DIR}/probes ${kernels}/code.cu ${architecture} ${kept_code}/chase_held_code --held)
  endforeach()
endif()

# Writes the PTX into the source tree, for builds without a toolkit.
add_custom_target(kernels-ptx
  COMMAND ${CMAKE_COMMAND} -DPTX=${ptx_folder} -DNVCC_RELEASE=${nvcc_release} -DKERNELS=${kernels} -DARCHIVE=${kept_ptx}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/keep_ptx.cmake
  DEPENDS gputopo_kernels
  COMMENT "Writing ${kept_ptx}"
  VERBATIM)
