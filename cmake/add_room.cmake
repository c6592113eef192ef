# add_room(NAME SOURCES file... [LINKS target...])
# A room is one static library, seen by others as room::NAME. LINKS lists the rooms its arrows point to
# (docs/ARCHITECTURE.md) and the outside libraries it uses.
function(add_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
  add_library(room_${name} STATIC ${ROOM_SOURCES})
  add_library(room::${name} ALIAS room_${name})
  target_link_libraries(room_${name} PUBLIC oncelatch_options ${ROOM_LINKS})
endfunction()

# add_room_test(NAME [SERIAL] SOURCES file... [LINKS target...] [TIMEOUT seconds])
# One GoogleTest program; every TEST is a ctest of its own name. SERIAL: while one of them runs nothing else does.
include(GoogleTest)
function(add_room_test name)
  cmake_parse_arguments(TEST "SERIAL" "TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE oncelatch_options ${TEST_LINKS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    ONCELATCH_CASES_DIR="${CMAKE_SOURCE_DIR}/tests/cases" ONCELATCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    ONCELATCH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_precompile_headers(${name} REUSE_FROM test_pch)
  gtest_discover_tests(${name} TEST_PREFIX ${name}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${TEST_TIMEOUT} RUN_SERIAL ${TEST_SERIAL})
endfunction()
