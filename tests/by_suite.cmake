# Run after PROGRAM was built: writes a CTest test for each suite of its cases to TESTS, which run in WORKING_DIRECTORY.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "${listed}")
if(NOT suites)
  message(FATAL_ERROR "${PROGRAM} lists no tests")
endif()
set(tests "")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "\\.$" "" suite "${suite}")
  string(APPEND tests "add_test([=[${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${suite}]=] PROPERTIES TIMEOUT 600 WORKING_DIRECTORY [=[${WORKING_DIRECTORY}]=])\n")
endforeach()
file(WRITE ${TESTS} "${tests}")
