# Freestanding programs: static PIE of musl's start files and libc.a, without the C++ runtime. Its flags are its own: no sanitizer, no
# fortify (that is glibc's), never a room's library. docs/ARCHITECTURE.md says why (program start-up costs more than confinement).
set(ONCELATCH_MUSL_DIR /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-musl CACHE PATH "musl's start files and libc.a")
if(NOT EXISTS ${ONCELATCH_MUSL_DIR}/rcrt1.o)
  message(FATAL_ERROR "musl's rcrt1.o isn't in ${ONCELATCH_MUSL_DIR}: install musl-dev")
endif()
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-libgcc-file-name OUTPUT_VARIABLE ONCELATCH_LIBGCC
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS "${ONCELATCH_LIBGCC}") # clang may name its own runtime
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} --rtlib=libgcc -print-libgcc-file-name OUTPUT_VARIABLE ONCELATCH_LIBGCC
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

# add_freestanding_program(TARGET NAME SOURCES file... [LIBRARIES archive...])
function(add_freestanding_program target name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${PROGRAM_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/launcher)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_compile_options(${target} PRIVATE -Os -fPIE -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-builtin-printf
    -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0
    -fstack-protector-strong -fstack-clash-protection
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wimplicit-fallthrough -Werror
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection=full>
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},aarch64>:-mbranch-protection=standard>)
  target_link_options(${target} PRIVATE -nostdlib -static-pie -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now
    -Wl,-z,noexecstack -Wl,-z,separate-code -Wl,--build-id=none
    ${ONCELATCH_MUSL_DIR}/rcrt1.o ${ONCELATCH_MUSL_DIR}/crti.o)
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${PROGRAM_LIBRARIES} ${ONCELATCH_MUSL_DIR}/libc.a
    ${ONCELATCH_LIBGCC} -Wl,--end-group ${ONCELATCH_MUSL_DIR}/crtn.o)
endfunction()
