# cmake -DPTX=FOLDER -DNVCC_RELEASE=... -DKERNELS=FOLDER -DARCHIVE=... -P keep_ptx.cmake: packs the PTX for the repository.
include(${CMAKE_CURRENT_LIST_DIR}/kernel_sources.cmake)
kernel_sources_hash(hash ${KERNELS})
file(WRITE ${PTX}/made-of.txt "nvcc ${NVCC_RELEASE}\nsources ${hash}\n")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E tar cJf ${ARCHIVE} --mtime=2000-01-01 chase.ptx chase_banks.ptx chase_code.ptx chase_execute.ptx chase_held_code.ptx chase_paged_code.ptx chase_store.ptx stream.ptx work.ptx made-of.txt
  WORKING_DIRECTORY ${PTX} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${ARCHIVE} size)
message(STATUS "${ARCHIVE}: ${size} bytes")
