# oncelatch-exec: sets up one confinement and becomes the program (cmake/freestanding.cmake has the flags).
add_freestanding_program(oncelatch_exec oncelatch-exec SOURCES
  broker.cc
  broker_calls.cc
  broker_held.cc
  broker_open.cc
  broker_place.cc
  capabilities.cc
  descriptors.cc
  devices.cc
  enforce.cc
  exec_main.cc
  execute.cc
  guard_rules.cc
  guarded_names.cc
  held_wire.cc
  landlock.cc
  layer_probes.cc
  limit_watch.cc
  limits.cc
  mount_tools.cc
  mounts.cc
  overlay.cc
  namespaces.cc
  new_worktree.cc
  on_host.cc
  pid_one.cc
  plan_wire.cc
  proc.cc
  seccomp.cc
  self_test.cc
  spelling.cc)
target_compile_options(oncelatch_exec PRIVATE -Wnull-dereference)
add_dependencies(oncelatch_exec filter_data)
# oncelatch-narrow: confines tmux, which works outside the sandbox.
add_freestanding_program(oncelatch_narrow oncelatch-narrow SOURCES capabilities.cc narrow_apply.cc narrow_main.cc)
target_compile_options(oncelatch_narrow PRIVATE -Wnull-dereference)
add_dependencies(oncelatch_narrow filter_data)

# Tests and benchmarks run from their own directories: a link beside them, where find_companion() looks.
function(place_freestanding_beside target program)
  add_dependencies(${target} ${program})
  add_custom_command(TARGET ${target} PRE_LINK
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:${program}>
      $<TARGET_FILE_DIR:${target}>/$<TARGET_FILE_NAME:${program}>
    VERBATIM)
endfunction()
function(place_oncelatch_exec_beside target)
  place_freestanding_beside(${target} oncelatch_exec)
endfunction()
