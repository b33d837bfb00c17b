# Against stand-ins for the driver's program: native_architectures.cmake SOURCE WORK.
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/probes/device/cuda/native_architectures.cmake)

# expect(SAYS EXITS ANSWER): what is taken of 75, 80, 90 and 121 where the driver's program prints SAYS and exits with EXITS.
function(expect says exits answer)
  file(WRITE ${WORK}/nvidia-smi "#!/bin/sh\nprintf '${says}'\nexit ${exits}\n")
  file(CHMOD ${WORK}/nvidia-smi PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(ENV{PATH} "${WORK}:/usr/bin:/bin")
  gputopo_native_architectures(found "75;80;90;121" "90;121")
  if(NOT found STREQUAL answer)
    message(SEND_ERROR "'${says}', exit ${exits}: ${found}, not ${answer}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
expect("9.0\\n" 0 "90")
expect("9.0\\n9.0\\n" 0 "90")
expect("7.5\\n9.0\\n" 0 "75;90")
expect("12.1\\n" 0 "121")
expect("6.1\\n" 0 "90;121")               # a GPU that this toolkit no longer knows
expect("9.0\\n6.1\\n" 0 "90")
expect("No devices were found\\n" 0 "90;121")
expect("9.0\\n" 9 "90;121")               # a driver that fails
file(REMOVE ${WORK}/nvidia-smi)
set(ENV{PATH} "${WORK}")
gputopo_native_architectures(found "75;80;90;121" "90;121")
if(NOT found STREQUAL "90;121")
  message(SEND_ERROR "no driver: ${found}")
endif()
