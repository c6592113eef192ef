# oncelatch, the light program: the `exec` command and what it needs of base/, verify/ and sandbox/, compiled without
# exceptions and RTTI against the system's headers, linked with musl like oncelatch-exec (sandbox/exec_path.cmake says why). Of
# libstdc++ it takes headers and a few plain functions; launcher/exec/runtime.cc is the rest.
set(ONCELATCH_LIGHT_SOURCES
  base/beneath.cc
  base/json_text.cc
  base/nearest_word.cc
  base/process.cc
  base/process_child.cc
  base/remove_tree.cc
  base/result.cc
  base/untrusted.cc
  launcher/after_run.cc
  launcher/aftermath.cc
  launcher/change_effects.cc
  launcher/change_list.cc
  launcher/change_set.cc
  launcher/errors.cc
  launcher/exec/attempt.cc
  launcher/exec/command.cc
  launcher/exec/cover_path.cc
  launcher/exec/environment.cc
  launcher/exec/explain.cc
  launcher/exec/git_covers.cc
  launcher/exec/git_settings.cc
  launcher/exec/live_probe.cc
  launcher/exec/main.cc
  launcher/exec/options.cc
  launcher/exec/origins.cc
  launcher/exec/own_branch.cc
  launcher/exec/page.cc
  launcher/exec/plan.cc
  launcher/exec/profile.cc
  launcher/exec/program.cc
  launcher/exec/repository.cc
  launcher/exec/pump.cc
  launcher/exec/refused_names.cc
  launcher/exec/report.cc
  launcher/exec/requirements.cc
  launcher/exec/runtime.cc
  launcher/exec/streams.cc
  launcher/exec/terminal_keeper.cc
  launcher/exec/toolchains.cc
  launcher/exec/why.cc
  launcher/exec/why_call.cc
  launcher/exec/why_path.cc
  launcher/exec/why_socket.cc
  launcher/exec/workspace.cc
  launcher/git_index.cc
  launcher/git_state.cc
  launcher/host_effects.cc
  launcher/messages.cc
  launcher/report_file.cc
  launcher/output_filter.cc
  launcher/output_modes.cc
  launcher/output_sequence.cc
  launcher/output_states.cc
  launcher/output_text.cc
  launcher/runner_commands.cc
  launcher/sarif.cc
  launcher/quarantine.cc
  launcher/session_directory.cc
  launcher/state_directory.cc
  verify/program_file.cc)
list(TRANSFORM ONCELATCH_LIGHT_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
get_target_property(ONCELATCH_SANDBOX_SOURCES room_sandbox SOURCES)
list(TRANSFORM ONCELATCH_SANDBOX_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/sandbox/)
list(APPEND ONCELATCH_LIGHT_SOURCES ${ONCELATCH_SANDBOX_SOURCES})

execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE ONCELATCH_LIBSTDCXX
  OUTPUT_STRIP_TRAILING_WHITESPACE)
find_library(ONCELATCH_UTF8PROC_ARCHIVE libutf8proc.a REQUIRED)
find_library(ONCELATCH_SODIUM_ARCHIVE libsodium.a REQUIRED)

add_freestanding_program(oncelatch oncelatch SOURCES ${ONCELATCH_LIGHT_SOURCES}
  LIBRARIES ${ONCELATCH_UTF8PROC_ARCHIVE} ${ONCELATCH_SODIUM_ARCHIVE} ${ONCELATCH_LIBSTDCXX})
# Every template is made here: libstdc++'s own copies drag in its streams. The warnings are those of cmake/options.cmake.
target_compile_options(oncelatch PRIVATE -D_GLIBCXX_EXTERN_TEMPLATE=0
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow>)
add_dependencies(oncelatch syscall_names oncelatch_session oncelatch_exec oncelatch_narrow oncelatch_relay)
