/* Kills the process at the nth system call that changes a file; `countdown` is set by the test. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

int countdown = -1, calls = 0;

static void step(void) {
  calls++;
  if (countdown > 0 && --countdown == 0) raise(SIGKILL);
}

#define WRAP(type, name, parameters, arguments)                        \
  type name parameters {                                               \
    static type(*original) parameters;                                 \
    if (!original) original = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    step();                                                            \
    return original arguments;                                         \
  }

WRAP(ssize_t, write, (int f, const void *b, size_t n), (f, b, n))
WRAP(ssize_t, pwrite, (int f, const void *b, size_t n, off_t o), (f, b, n, o))
WRAP(ssize_t, pwrite64, (int f, const void *b, size_t n, off64_t o), (f, b, n, o))
WRAP(int, fsync, (int f), (f))
WRAP(int, fdatasync, (int f), (f))
WRAP(int, ftruncate, (int f, off_t n), (f, n))
WRAP(int, ftruncate64, (int f, off64_t n), (f, n))
WRAP(int, unlink, (const char *p), (p))
WRAP(int, rename, (const char *a, const char *b), (a, b))
