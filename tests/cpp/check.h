#pragma once
// The smallest test frame that says where and what: TEST defines a case, CHECK goes on, the process ends with
// 1 when anything failed. An argument on the command line runs only the cases whose name contains it.

#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace check {

struct Case {
  const char* name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline int& failures() {
  static int n = 0;
  return n;
}

inline bool add(const char* name, std::function<void()> body) {
  cases().push_back({name, std::move(body)});
  return true;
}

inline void fail(const char* file, int line, const std::string& what) {
  ++failures();
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

template <class A, class B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::ostringstream out;
  out << text << ": " << a << " != " << b;
  fail(file, line, out.str());
}

inline void near(double a, double b, double tolerance, const char* text, const char* file, int line) {
  if (std::abs(a - b) <= tolerance) return;
  std::ostringstream out;
  out.precision(17);
  out << text << ": |" << a << " - " << b << "| > " << tolerance;
  fail(file, line, out.str());
}

template <class Exception, class F>
void throws(const F& f, const std::string& part, const char* file, int line) {
  try {
    f();
  } catch (const Exception& e) {
    if (std::string(e.what()).find(part) == std::string::npos) {
      fail(file, line, "the message is \"" + std::string(e.what()) + "\", expected \"" + part + "\" in it");
    }
    return;
  } catch (const std::exception& e) {
    fail(file, line, "an exception of another type: " + std::string(e.what()));
    return;
  }
  fail(file, line, "nothing was thrown");
}

inline int run(int argc, char** argv) {
  for (const Case& c : cases()) {
    if (argc > 1 && std::string(c.name).find(argv[1]) == std::string::npos) continue;
    const int before = failures();
    try {
      c.body();
    } catch (const std::exception& e) {
      fail(c.name, 0, std::string("unexpected exception: ") + e.what());
    }
    std::printf("%s %s\n", failures() == before ? "ok    " : "FAILED", c.name);
  }
  return failures() == 0 ? 0 : 1;
}

}  // namespace check

#define TEST(name)                                                  \
  static void test_##name();                                        \
  static const bool added_##name = check::add(#name, &test_##name); \
  static void test_##name()
#define CHECK(condition) \
  if (!(condition)) check::fail(__FILE__, __LINE__, #condition)
#define CHECK_EQUAL(a, b) check::equal((a), (b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) check::near((a), (b), (tolerance), #a, __FILE__, __LINE__)
#define CHECK_THROWS(Exception, part, ...) \
  check::throws<Exception>([&] { __VA_ARGS__; }, part, __FILE__, __LINE__)

int main(int argc, char** argv) {
  return check::run(argc, argv);
}
