# fuzz/NAME.cc (one LLVMFuzzerTestOneInput each) becomes fuzz_NAME, linked with every library of ours.
# With EDGEWRIGHT_FUZZ (clang; ./dev fuzz) it is a libFuzzer under ASan and UBSan. Otherwise, with the
# tests, it is a program that replays fuzz/corpus/NAME/*, so that what once crashed stays a test.

option(EDGEWRIGHT_FUZZ "build the fuzzers with libFuzzer (needs clang)" OFF)

# Called before any library is declared, because the libraries are to be instrumented.
macro(ew_fuzz_flags)
  if(EDGEWRIGHT_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
  endif()
endmacro()

# Called after the libraries (targets ew_<folder>, those of FOLDERS that exist).
function(ew_fuzzers folders)
  if(NOT EDGEWRIGHT_FUZZ AND NOT EDGEWRIGHT_TESTS)
    return()
  endif()
  set(libs)
  foreach(folder ${folders})
    if(TARGET ew_${folder})
      list(APPEND libs ew_${folder})
    endif()
  endforeach()
  file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*.cc)
  add_custom_target(fuzzers)
  foreach(source ${fuzzers})
    get_filename_component(name ${source} NAME_WE)
    add_executable(fuzz_${name} ${source})
    add_dependencies(fuzzers fuzz_${name})
    target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(fuzz_${name} PRIVATE ${libs})
    if(EDGEWRIGHT_FUZZ)
      target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cc)
      add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
    endif()
  endforeach()
endfunction()
