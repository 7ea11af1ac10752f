#include "lm/word_exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.h"

namespace semproj::lm {
namespace {

constexpr int64_t kTable = 1 << 16;  // g is looked up for counts below
constexpr int64_t kMostInBatch = 128;
constexpr double kLeastGain = 1e-6;  // sums of doubles differ by less than this when nothing has changed

class Entropy {
 public:
  Entropy() : table_(kTable) {
    for (int64_t n = 1; n < kTable; ++n) table_[static_cast<size_t>(n)] = of(static_cast<double>(n));
  }
  double operator()(int64_t n) const {
    return n < kTable ? table_[static_cast<size_t>(n)] : of(static_cast<double>(n));
  }

 private:
  static double of(double n) { return n * std::log(n); }
  std::vector<double> table_;
};

// How often words of each class are beside one word: the classes that are there, and a count for every class.
struct Side {
  std::vector<int32_t> found;
  std::vector<int64_t> counts;

  explicit Side(int64_t n_classes) : counts(static_cast<size_t>(n_classes), 0) {}

  void add(int32_t c, int64_t n) {
    if (counts[static_cast<size_t>(c)] == 0) found.push_back(c);
    counts[static_cast<size_t>(c)] += n;
  }
  void clear() {
    for (const int32_t c : found) counts[static_cast<size_t>(c)] = 0;
    found.clear();
  }
};

// One word among its neighbors, without itself.
struct Surroundings {
  Side after, before;
  int64_t twice = 0;  // how often the word follows itself
  int64_t total = 0;
  std::vector<double> gains;

  explicit Surroundings(int64_t n_classes)
      : after(n_classes), before(n_classes), gains(static_cast<size_t>(n_classes)) {}
};

// Counts of pairs of classes, by row and by column.
class ClassPairs {
 public:
  ClassPairs(const WordPairs& pairs, const int32_t* classes, int64_t n)
      : n_(n),
        rows_(static_cast<size_t>(n * n), 0),
        columns_(rows_.size(), 0),
        totals_(static_cast<size_t>(n), 0) {
    Patience patience;
    for (size_t w = 0; w + 1 < pairs.after.starts.size(); ++w) {
      for (int64_t i = pairs.after.starts[w]; i < pairs.after.starts[w + 1]; ++i) {
        const auto at = static_cast<size_t>(i);
        add(classes[w], classes[pairs.after.words[at]], pairs.after.counts[at]);
        totals_[static_cast<size_t>(classes[w])] += pairs.after.counts[at];
      }
      patience.spend(4 * (pairs.after.starts[w + 1] - pairs.after.starts[w]));
    }
  }

  const int64_t* from(int64_t c) const { return rows_.data() + c * n_; }
  const int64_t* to(int64_t d) const { return columns_.data() + d * n_; }
  int64_t total(int64_t c) const { return totals_[static_cast<size_t>(c)]; }

  // The word comes into a class, or with sign -1 leaves it.
  void put(const Surroundings& word, int32_t c, int64_t sign) {
    for (const int32_t d : word.after.found) add(c, d, sign * word.after.counts[static_cast<size_t>(d)]);
    for (const int32_t d : word.before.found) add(d, c, sign * word.before.counts[static_cast<size_t>(d)]);
    add(c, c, sign * word.twice);
    totals_[static_cast<size_t>(c)] += sign * word.total;
  }

  double log_likelihood(const Entropy& g) const {
    double sum = 0;
    for (int64_t c = 0; c < n_; ++c) {
      double row = 0;
      for (int64_t d = 0; d < n_; ++d) row += g(from(c)[d]);
      sum += row - 2 * g(total(c));
    }
    return sum;
  }

 private:
  void add(int64_t c, int64_t d, int64_t n) {
    rows_[static_cast<size_t>(c * n_ + d)] += n;
    columns_[static_cast<size_t>(d * n_ + c)] += n;
  }

  int64_t n_;
  std::vector<int64_t> rows_, columns_, totals_;
};

class Exchange {
 public:
  Exchange(const WordPairs& pairs, int32_t* classes, int64_t n_classes, int64_t n_free, int n_threads)
      : pairs_(pairs),
        classes_(classes),
        n_free_(n_free),
        n_threads_(n_threads),
        counts_(pairs, classes, n_classes),
        members_(static_cast<size_t>(n_classes), 0),
        scratch_(static_cast<size_t>(n_threads), Surroundings(n_classes)) {
    for (size_t w = 0; w < n_words(); ++w) ++members_[static_cast<size_t>(classes[w])];
  }

  ExchangeSweep sweep() {
    int64_t moves = 0;
    const auto n = static_cast<int64_t>(n_words());
    for (int64_t begin = 0; begin < n;) {
      // Frequent words, which change much for the others, are taken almost one by one.
      const int64_t size = std::clamp<int64_t>(begin / 8, 1, kMostInBatch);
      const int64_t end = std::min(begin + size, n);
      wanted_.assign(static_cast<size_t>(end - begin), 0);
      parallel_for(block_count(end - begin, kTask), n_threads_, [&](int64_t task, int worker) {
        const Block words = block_at(end - begin, kTask, task);
        for (int64_t i = words.begin; i < words.end; ++i) {
          wanted_[static_cast<size_t>(i)] = best_class(begin + i, scratch_[static_cast<size_t>(worker)]);
        }
      });
      for (int64_t w = begin; w < end; ++w) moves += move(w, wanted_[static_cast<size_t>(w - begin)]);
      begin = end;
    }
    return {moves, counts_.log_likelihood(g_)};
  }

 private:
  static constexpr int64_t kTask = 8;  // words

  size_t n_words() const { return pairs_.after.starts.size() - 1; }

  void look_around(int64_t word, Surroundings& at) const {
    at.after.clear();
    at.before.clear();
    at.twice = at.total = 0;
    const auto look = [&](const Neighbors& neighbors, Side& side, bool count_twice) {
      for (auto i = static_cast<size_t>(neighbors.starts[word]);
           i < static_cast<size_t>(neighbors.starts[word + 1]); ++i) {
        const int32_t other = neighbors.words[i];
        if (count_twice) at.total += neighbors.counts[i];
        if (other != word) {
          side.add(classes_[other], neighbors.counts[i]);
        } else if (count_twice) {
          at.twice = neighbors.counts[i];
        }
      }
    };
    look(pairs_.after, at.after, true);
    look(pairs_.before, at.before, false);
  }

  // What F gains by putting the word into class c, after it was taken out of the class it is in.
  double gain(const Surroundings& word, int64_t c, int64_t own) const {
    const int64_t *from = counts_.from(c), *to = counts_.to(c);
    const auto gone = [&](int64_t x, int64_t y) {  // what the word itself has in N(x, y)
      int64_t n = 0;
      if (x == own) n += word.after.counts[static_cast<size_t>(y)];
      if (y == own) n += word.before.counts[static_cast<size_t>(x)];
      if (x == own && y == own) n += word.twice;
      return n;
    };
    double sum = 0;
    for (const int32_t d : word.after.found) {
      if (d == c) continue;
      const int64_t n = from[d] - gone(c, d);
      sum += g_(n + word.after.counts[static_cast<size_t>(d)]) - g_(n);
    }
    for (const int32_t d : word.before.found) {
      if (d == c) continue;
      const int64_t n = to[d] - gone(d, c);
      sum += g_(n + word.before.counts[static_cast<size_t>(d)]) - g_(n);
    }
    const int64_t both = from[c] - gone(c, c);
    const auto at = static_cast<size_t>(c);
    sum += g_(both + word.after.counts[at] + word.before.counts[at] + word.twice) - g_(both);
    const int64_t total = counts_.total(c) - (c == own ? word.total : 0);
    return sum - 2 * (g_(total + word.total) - g_(total));
  }

  // The same for all classes, class by class of the neighbors: counts are read in the order they are stored
  // in.
  int32_t best_class(int64_t w, Surroundings& word) const {
    const int32_t own = classes_[w];
    if (own >= n_free_ || members_[static_cast<size_t>(own)] == 1) return own;
    look_around(w, word);
    double* gains = word.gains.data();
    std::fill(gains, gains + n_free_, 0.0);
    const auto add_side = [&](const Side& side, const Side& other, bool is_after) {
      for (const int32_t d : side.found) {
        const int64_t *column = is_after ? counts_.to(d) : counts_.from(d),
                      n = side.counts[static_cast<size_t>(d)];
        if (d == own) {  // the word itself is among these
          for (int64_t c = 0; c < n_free_; ++c) {
            const int64_t without = column[c] - other.counts[static_cast<size_t>(c)];
            if (c != own) gains[c] += g_(without + n) - g_(without);
          }
        } else {
          for (int64_t c = 0; c < n_free_; ++c) gains[c] += g_(column[c] + n) - g_(column[c]);
        }
      }
    };
    add_side(word.after, word.before, true);
    add_side(word.before, word.after, false);
    double best = gain(word, own, own) + kLeastGain;
    int32_t where = own;
    for (int64_t c = 0; c < n_free_; ++c) {
      if (c == own) continue;
      const auto at = static_cast<size_t>(c);
      const int64_t s = word.after.counts[at], p = word.before.counts[at], both = counts_.from(c)[c];
      // N(c, c) was taken for two different counts.
      const double corner = g_(both + s + p + word.twice) + g_(both) - g_(both + s) - g_(both + p);
      const int64_t total = counts_.total(c);
      const double here = gains[c] + corner - 2 * (g_(total + word.total) - g_(total));
      if (here > best) best = here, where = static_cast<int32_t>(c);
    }
    return where;
  }

  bool move(int64_t w, int32_t to) {
    const int32_t own = classes_[w];
    if (to == own || members_[static_cast<size_t>(own)] == 1) return false;
    Surroundings& word = scratch_[0];
    look_around(w, word);
    if (gain(word, to, own) <= gain(word, own, own) + kLeastGain) return false;
    counts_.put(word, own, -1);
    counts_.put(word, to, 1);
    --members_[static_cast<size_t>(own)];
    ++members_[static_cast<size_t>(to)];
    classes_[w] = to;
    return true;
  }

  const WordPairs& pairs_;
  int32_t* classes_;
  int64_t n_free_;
  int n_threads_;
  Entropy g_;
  ClassPairs counts_;
  std::vector<int64_t> members_;
  std::vector<Surroundings> scratch_;
  std::vector<int32_t> wanted_;
};

double words_entropy(const WordPairs& pairs) {
  double sum = 0;
  for (size_t w = 0; w + 1 < pairs.after.starts.size(); ++w) {
    int64_t n = 0;
    for (int64_t i = pairs.after.starts[w]; i < pairs.after.starts[w + 1]; ++i) {
      n += pairs.after.counts[static_cast<size_t>(i)];
    }
    if (n > 0) sum += static_cast<double>(n) * std::log(static_cast<double>(n));
  }
  return sum;
}

}  // namespace

ExchangeSweep exchange_words(const WordPairs& pairs, int32_t* classes, int64_t n_classes, int64_t n_free,
                             int n_threads) {
  ExchangeSweep found = Exchange(pairs, classes, n_classes, n_free, n_threads).sweep();
  found.log_likelihood += words_entropy(pairs);
  return found;
}

double class_log_likelihood(const WordPairs& pairs, const int32_t* classes, int64_t n_classes) {
  return ClassPairs(pairs, classes, n_classes).log_likelihood(Entropy()) + words_entropy(pairs);
}

}  // namespace semproj::lm
