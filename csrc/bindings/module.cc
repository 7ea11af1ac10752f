#include "bindings/bindings.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "Compiled kernels of semproj. Not a public interface: use semproj.kernels.";
  using namespace semproj::bindings;
  // Otherwise the first array would look NumPy up, and release the GIL for it as only pybind11 does.
  pybind11::array_t<float>(0);
  register_config(m);
  register_csr(m);
  register_weight(m);
  register_products(m);
  register_project(m);
  register_symmetric(m);
  register_retrieve(m);
  register_index(m);
  register_rowsolve(m);
  register_tall(m);
  register_text(m);
  register_windows(m);
  register_spgemm(m);
  register_sparse_topk(m);
  register_alignment(m);
  register_bptf_graph(m);
  register_bptf(m);
  register_plsa(m);
  register_cplsa(m);
  register_s2net(m);
  register_tucker(m);
  register_wordbyword(m);

  auto lm = m.def_submodule("lm", "Kernels of language models.");
  register_modelm(lm);
  register_modelm_score(lm);
  register_ngram_sinks(lm);
  register_text_reading(lm);
  register_ngram(lm);
  register_ngram_model(lm);
  register_ngram_states(lm);
  register_ngram_tables(lm);
  register_rnnlm(lm);
  register_word_classes(lm);
}
