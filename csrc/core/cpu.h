#pragma once
// Which of the compiled instruction-set variants this process uses.

#include <string>
#include <vector>

namespace semproj {

enum class Isa { baseline, avx2, avx512 };

const char* name_of(Isa isa);

// The variants this CPU can run, slowest first; baseline is always among them.
std::vector<Isa> supported_isas();

// `requested` is a variant's name, or empty for the best one. Throws std::invalid_argument for a name that is
// unknown and std::runtime_error for one that this CPU cannot run.
Isa choose_isa(const std::string& requested);

}  // namespace semproj
