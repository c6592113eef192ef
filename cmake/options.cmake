# Compiler flags of every target. Warnings are errors in both compilers.
add_library(oncelatch_options INTERFACE)
target_compile_options(oncelatch_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wimplicit-fallthrough -Werror
  # g++ 12 reports its own std::string code by these three and by -Wnull-dereference (GCC bugs 105329, 105651); clang does not.
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wnull-dereference>)
target_include_directories(oncelatch_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

option(ONCELATCH_HARDEN "PIE, full RELRO, fortify, stack protector and clash protection, CET" OFF)
set(ONCELATCH_SANITIZE "" CACHE STRING "address,undefined or thread; empty for none")
option(ONCELATCH_FUZZ "Build the fuzz targets with libFuzzer (clang only)" OFF)

if(ONCELATCH_SANITIZE)
  target_compile_options(oncelatch_options INTERFACE -fsanitize=${ONCELATCH_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -g)
  target_link_options(oncelatch_options INTERFACE -fsanitize=${ONCELATCH_SANITIZE})
endif()

if(ONCELATCH_HARDEN)
  target_compile_options(oncelatch_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS
    -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(oncelatch_options INTERFACE -fcf-protection=full)
    # Debian 12's start files carry no mark of their own, so the linker would drop everybody's.
    target_link_options(oncelatch_options INTERFACE -Wl,-z,ibt -Wl,-z,shstk)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    target_compile_options(oncelatch_options INTERFACE -mbranch-protection=standard)
  endif()
  target_link_options(oncelatch_options INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
