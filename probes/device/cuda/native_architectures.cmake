# gputopo_native_architectures(VARIABLE KNOWN OTHERWISE): of the architectures in the list KNOWN those of this machine's GPUs, as
# the driver's own program says; the list OTHERWISE where it isn't there or finds none of them.
function(gputopo_native_architectures variable known otherwise)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    RESULT_VARIABLE status OUTPUT_VARIABLE listed ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${listed}")
  set(native "")
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" architecture "${capability}")
    if(status EQUAL 0 AND architecture IN_LIST known AND NOT architecture IN_LIST native)
      list(APPEND native ${architecture})
    endif()
  endforeach()
  if(NOT native)
    set(native ${otherwise})
  endif()
  set(${variable} ${native} PARENT_SCOPE)
endfunction()
