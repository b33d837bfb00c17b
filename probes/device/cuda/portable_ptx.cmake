# cmake -DNVCC=... -DSOURCE=... -DOUTPUT=... -DINCLUDE=... -DARCHITECTURE=75 -DDEFINES="..." -P portable_ptx.cmake
# The kernel as PTX that old drivers and GPUs take too. nvcc heads its output with its own PTX version and the oldest
# GPU it knows, although nothing of ours needs more than these; ptxas refuses whatever does.
set(version 7.4)  # CUDA 11.4, driver 470: loads that allocate no line
set(target sm_70)
execute_process(COMMAND ${NVCC} -std=c++17 -O3 -Wno-deprecated-gpu-targets -I${INCLUDE} -DGPUTOPO_PORTABLE ${DEFINES}
                        -arch=compute_${ARCHITECTURE} -ptx ${SOURCE} -o ${OUTPUT}.made COMMAND_ERROR_IS_FATAL ANY)
file(READ ${OUTPUT}.made text)
file(REMOVE ${OUTPUT}.made)
string(REGEX REPLACE "\n//[^\n]*" "" text "\n${text}")
string(REGEX REPLACE "\n\\.version [0-9.]+" "\n.version ${version}" text "${text}")
string(REGEX REPLACE "\n\\.target sm_[0-9]+" "\n.target ${target}" text "${text}")
# Says which bytes of a wide load are used: a hint that only newer assemblers know.
string(REGEX REPLACE "\n[ \t]*\\.pragma \"used_bytes_mask[^\n]*" "" text "${text}")
# nvcc names what is local to a file by a hash of the folder it lies in, and every checkout has a folder of its own.
string(REPEAT "[0-9a-f]" 8 hash)
string(REGEX REPLACE "_${hash}_([0-9]+_[a-z_]+_cu)_${hash}" "_00000000_\\1_00000000" text "${text}")
string(STRIP "${text}" text)
file(WRITE ${OUTPUT}.checked.ptx "${text}\n")
execute_process(COMMAND ${NVCC} -cubin -arch=sm_${ARCHITECTURE} ${OUTPUT}.checked.ptx -o ${OUTPUT}.cubin
                COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${OUTPUT}.cubin)
file(RENAME ${OUTPUT}.checked.ptx ${OUTPUT})
