// Steps by a proximal map, the gap, what it holds, and the conjugate, against maps and penalties by hand;
// calls that fail; for every instruction set.

#include "models/cplsa_prox.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.h"

using namespace semproj;

namespace {

constexpr int64_t kTopics = 11;  // not a whole number of lanes

int32_t clip(const double* duals, const double* couplings, const double*, double* out, int64_t n) {
  for (int64_t t = 0; t < n; ++t) out[t] = std::clamp(duals[t], -couplings[t], couplings[t]);
  return 0;
}

// Of coupling s^2 / 2, whose conjugate is x^2 / (2 coupling).
int32_t shrink(const double* duals, const double* couplings, const double* steps, double* out, int64_t n) {
  for (int64_t t = 0; t < n; ++t) out[t] = duals[t] / (1 + steps[t] / couplings[t]);
  return 0;
}

// Of a band of 0.1, whose conjugate is 0.1 |x|.
int32_t band(const double* duals, const double*, const double* steps, double* out, int64_t n) {
  for (int64_t t = 0; t < n; ++t) {
    out[t] = std::copysign(std::max(std::abs(duals[t]) - 0.1 * steps[t], 0.0), duals[t]);
  }
  return 0;
}

int32_t raise_at_third(const double* duals, const double*, const double*, double* out, int64_t) {
  out[0] = duals[0], out[1] = duals[1];
  return 1;
}

int32_t infinite_at_fifth(const double* duals, const double*, const double*, double* out, int64_t n) {
  std::copy_n(duals, n, out);
  out[4] = std::numeric_limits<double>::infinity();
  return 0;
}

Coupling coupling_of(ProximalFunction function) {
  return {.weight = 2.0, .l2 = false, .tol = 0, .max_evaluations = 1, .prox = function};
}

// Rows as the projector has them: padded with zeros.
struct Rows {
  std::vector<float> from, d, f1, f2, scales, out;

  Rows() : from(16, 0.0f), d(from), f1(from), f2(from), scales(from), out(from) {
    for (int64_t t = 0; t < kTopics; ++t) {
      const auto i = static_cast<float>(t);
      from[t] = 0.5f * i - 2.5f + (t == 0 ? 0.5f : 0.0f);  // -2 to 2.5
      if (from[t] > 2) from[t] = 2;
      f1[t] = 0.02f + 0.01f * i;
      f2[t] = t == 3 ? f1[t] : 0.12f - 0.009f * i;
      scales[t] = 30;
      d[t] = scales[t] * std::log(f1[t] / f2[t]);
    }
  }
  double step(int64_t t) const {
    if (f1[t] == f2[t]) return static_cast<double>(scales[t]) / static_cast<double>(f1[t]);
    return static_cast<double>(d[t]) / static_cast<double>(f1[t] - f2[t]);
  }
};

ProximalStep step_of(ProximalMap& map, Rows& rows, double allowed = 1e300) {
  return map.step(rows.from.data(), rows.d.data(), rows.f1.data(), rows.f2.data(), rows.scales.data(), 1e6f,
                  allowed, rows.out.data());
}

}  // namespace

TEST(a_clip_and_its_duality_gap) {
  for (const Isa isa : supported_isas()) {
    ProximalMap map(coupling_of(&clip), kTopics, isa);
    Rows rows;
    const ProximalStep found = step_of(map, rows);
    double gap = 0, slack = 0, missing = 0;
    for (int64_t t = 0; t < kTopics; ++t) {
      const float x = std::clamp(rows.from[t] + rows.d[t], -2.0f, 2.0f);
      CHECK_EQUAL(rows.out[t], x);
      const auto move = static_cast<double>(x - rows.from[t]);
      const double apart = move == 0 ? 0 : static_cast<double>(rows.f1[t] - rows.f2[t]);
      gap += apart * move, slack = std::max(slack, std::abs(apart));
      missing += apart * move - move * move / rows.step(t) / 2;
    }
    CHECK_NEAR(found.gap, gap, 1e-6);
    CHECK_NEAR(found.slack, slack, 1e-7);
    CHECK_NEAR(found.missing, missing, 1e-6);
    std::vector<float> moved(16);
    map.free_topics(moved.data());
    for (int64_t t = 0; t < kTopics; ++t) {
      CHECK_EQUAL(moved[t], std::abs(rows.from[t] + rows.d[t]) < 2 ? 1.0f : 0.0f);
    }
    // Less is found out where the gap is too large as it is.
    CHECK(step_of(map, rows, 1e-6).gap > 1e-6);
  }
}

TEST(nothing_is_missing_where_the_map_stays) {
  for (const Isa isa : supported_isas()) {
    ProximalMap map(coupling_of(&shrink), kTopics, isa);
    Rows rows;
    for (int64_t t = 0; t < kTopics; ++t) rows.from[t] = 2 * (rows.f1[t] - rows.f2[t]);
    const ProximalStep found = step_of(map, rows);
    CHECK_NEAR(found.gap, 0.0, 1e-9);
    CHECK_NEAR(found.slack, 0.0, 1e-7);
    for (int64_t t = 0; t < kTopics; ++t) CHECK_NEAR(rows.out[t], rows.from[t], 1e-5);
    // Off by 0.1 in one topic: of the quadratic with curvatures 1 / step and 1 / coupling, to second order.
    rows.from[5] += 0.1f;
    const double curvature = 1 / rows.step(5) + 0.5, off = 0.1 * 0.5;
    CHECK_NEAR(step_of(map, rows).slack, off, 1e-4);  // the tiny step is not nothing
    CHECK_NEAR(step_of(map, rows).gap, off * off / curvature, 1e-4);
  }
}

TEST(conjugates) {
  for (const Isa isa : supported_isas()) {
    ProximalMap square(coupling_of(&shrink), kTopics, isa), width(coupling_of(&band), kTopics, isa),
        box(coupling_of(&clip), kTopics, isa);
    std::vector<double> from, to;
    double squares = 0, sizes = 0, squares_from = 0;
    for (int64_t t = 0; t < kTopics; ++t) {
      from.push_back(0.3 * static_cast<double>(t) - 1), to.push_back(0.37 * static_cast<double>(t) - 2);
      squares += to[t] * to[t] / 4, sizes += 0.1 * std::abs(to[t]);
      squares_from += from[t] * from[t] / 4;
    }
    CHECK_NEAR(square.conjugate(to.data()), squares, 1e-5);
    CHECK_NEAR(square.rise(from.data(), to.data()), squares - squares_from, 1e-5);
    CHECK_NEAR(width.conjugate(to.data()), sizes, 1e-5);
    CHECK_NEAR(box.conjugate(to.data()), 0.0, 1e-9);
    const std::vector<float> none(16, 0.0f);
    CHECK_EQUAL(square.conjugate(none.data()), 0.0);
  }
}

TEST(cut_to_the_domain) {
  ProximalMap box(coupling_of(&clip), kTopics, supported_isas().back());
  Rows rows;
  step_of(box, rows);
  std::vector<float> x(16, 0.0f);
  for (int64_t t = 0; t < kTopics; ++t) x[t] = static_cast<float>(t) - 5;
  box.cut_to_domain(x.data());
  for (int64_t t = 0; t < kTopics; ++t) CHECK_EQUAL(x[t], std::clamp(static_cast<float>(t) - 5, -2.0f, 2.0f));
}

TEST(calls_that_fail_are_told) {
  for (const Isa isa : supported_isas()) {
    Rows rows;
    ProximalMap raising(coupling_of(&raise_at_third), kTopics, isa);
    CHECK(!std::isfinite(step_of(raising, rows).gap));
    CHECK(raising.failure().failed);
    CHECK(raising.failure().raised);
    CHECK_NEAR(raising.failure().dual, static_cast<double>(rows.from[2] + rows.d[2]), 1e-4);
    CHECK_EQUAL(raising.failure().coupling, 2.0);
    raising.begin_pair();
    CHECK(!raising.failure().failed);
    ProximalMap infinite(coupling_of(&infinite_at_fifth), kTopics, isa);
    CHECK(!std::isfinite(step_of(infinite, rows).gap));
    CHECK(!infinite.failure().raised);
    CHECK_NEAR(infinite.failure().dual, static_cast<double>(rows.from[4] + rows.d[4]), 1e-4);
  }
}

TEST(no_function_no_map) {
  const Coupling plain{.weight = 2.0, .l2 = false, .tol = 0, .max_evaluations = 1};
  CHECK(!ProximalMap(plain, kTopics, supported_isas().back()));
  CHECK(static_cast<bool>(ProximalMap(coupling_of(&clip), kTopics, supported_isas().back())));
}
