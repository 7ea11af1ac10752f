# csrc/kernels/simd/*.cc is compiled once per instruction set, into the namespace named by SEMPROJ_SIMD;
# kernels/dispatch.cc chooses among them.
# These objects include only intrinsics and their own headers, so that no inline function of the standard
# library compiled for a newer CPU can end up being the one the linker keeps for everybody.
function(semproj_add_simd_variants target)
  file(GLOB simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/csrc/kernels/simd/*.cc)
  set(variants baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    list(APPEND variants avx2 avx512)
    target_compile_definitions(${target} PUBLIC SEMPROJ_X86_VARIANTS=1)
  endif()
  set(flags_baseline "")
  set(flags_avx2 -mavx2 -mfma -mf16c -mbmi2)
  set(flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx2 -mfma -mf16c -mbmi2
      -mprefer-vector-width=512)
  foreach(variant IN LISTS variants)
    add_library(semproj_simd_${variant} OBJECT ${simd_sources})
    target_link_libraries(semproj_simd_${variant} PRIVATE semproj_flags)
    # GCC 12 warns about the deliberately undefined registers inside its own intrinsics.
    target_compile_options(semproj_simd_${variant} PRIVATE ${flags_${variant}} -fno-lto -Wno-maybe-uninitialized)
    target_compile_definitions(semproj_simd_${variant} PRIVATE SEMPROJ_SIMD=${variant})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:semproj_simd_${variant}>)
  endforeach()
endfunction()
