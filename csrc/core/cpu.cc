#include "core/cpu.h"

#include <stdexcept>

namespace semproj {
namespace {

bool cpu_runs(Isa isa) {
  if (isa == Isa::baseline) return true;
#ifdef SEMPROJ_X86_VARIANTS
  // The compiler's own check also asks the operating system whether it saves the wide registers.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  if (isa == Isa::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

constexpr Isa kAll[] = {Isa::baseline, Isa::avx2, Isa::avx512};

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    default:
      return "baseline";
  }
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> found;
  for (const Isa isa : kAll) {
    if (cpu_runs(isa)) found.push_back(isa);
  }
  return found;
}

Isa choose_isa(const std::string& requested) {
  const std::vector<Isa> supported = supported_isas();
  if (requested.empty()) return supported.back();
  for (const Isa isa : kAll) {
    if (requested != name_of(isa)) continue;
    if (!cpu_runs(isa)) throw std::runtime_error("SEMPROJ_ISA=" + requested + ": this CPU cannot run it");
    return isa;
  }
  throw std::invalid_argument("SEMPROJ_ISA=" + requested + ": expected baseline, avx2 or avx512");
}

}  // namespace semproj
