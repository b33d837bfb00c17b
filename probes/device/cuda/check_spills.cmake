# Fails where nvcc said in LOG that a kernel spills registers, on any of the architectures that it was built for.
file(READ ${LOG} said)
string(REGEX MATCHALL "Registers are spilled[^\n]*" spills "${said}")
if(spills)
  message(FATAL_ERROR "${spills}")
endif()
