# Runs NVCC_COMMAND and keeps in LOG what it says.
execute_process(COMMAND ${NVCC_COMMAND} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
file(WRITE ${LOG} "${said}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${said}")
endif()
# Registers that are spilled make a test fail (check_spills.cmake), not a user's build.
string(REGEX REPLACE "ptxas warning : Registers are spilled[^\n]*\n?" "" rest "${said}")
if(NOT rest STREQUAL "")
  message("${rest}")
endif()
