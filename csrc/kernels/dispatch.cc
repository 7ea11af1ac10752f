#include "kernels/dispatch.h"

namespace semproj {

const simd::Table& simd_table(Isa isa) {
#ifdef SEMPROJ_X86_VARIANTS
  if (isa == Isa::avx512) {
    static const simd::Table avx512 = simd::avx512::table();
    return avx512;
  }
  if (isa == Isa::avx2) {
    static const simd::Table avx2 = simd::avx2::table();
    return avx2;
  }
#endif
  (void)isa;
  static const simd::Table baseline = simd::baseline::table();
  return baseline;
}

}  // namespace semproj
