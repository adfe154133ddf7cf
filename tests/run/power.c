/* Logs each system call that changes a file below $POWER_ROOT, in $POWER_LOG: what the disk is told.
   A record is a line "operation inode offset bytes path path", tabs between, and then the bytes.
   Of those that make, write, sync or rename a file, the call $POWER_FAILS has the error $POWER_ERROR. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int out = -1;
static const char *root = "";
static int calls = 0, fails_at = 0, error = 0;

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("POWER_LOG");
  if (path) out = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (getenv("POWER_ROOT")) root = getenv("POWER_ROOT");
  if (getenv("POWER_FAILS")) fails_at = atoi(getenv("POWER_FAILS"));
  if (getenv("POWER_ERROR")) error = atoi(getenv("POWER_ERROR"));
}

static int fails(void) {
  if (!fails_at || __sync_add_and_fetch(&calls, 1) != fails_at) return 0;
  errno = error;
  return 1;
}

static void put(char op, ino_t inode, off_t at, size_t n, const char *a, const char *b,
                const void *bytes) {
  char head[2 * PATH_MAX + 99];
  int size = snprintf(head, sizeof head, "%c\t%lu\t%ld\t%zu\t%s\t%s\n", op, (unsigned long)inode,
                      (long)at, n, a, b);
  struct iovec parts[2] = {{head, size}, {(void *)bytes, n}};
  if (out >= 0) syscall(SYS_writev, out, parts, 2);
}

/* The absolute path of a name below an open folder, if it is below the root. */
static int whole(int folder, const char *name, char *path) {
  char place[PATH_MAX] = "";
  if (name[0] != '/') {
    char link[64];
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    if (readlink(link, place, sizeof place - 1) < 0) return 0;
    strcat(place, "/");
  }
  snprintf(path, PATH_MAX, "%s%s", place, name);
  return out >= 0 && !strncmp(path, root, strlen(root));
}

/* The inode of an open file below the root; 0 elsewhere. */
static ino_t inode_of(int file) {
  char link[64], path[PATH_MAX] = "";
  struct stat about;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (out < 0 || readlink(link, path, sizeof path - 1) < 0 || fstat(file, &about)) return 0;
  return strncmp(path, root, strlen(root)) ? 0 : about.st_ino;
}

#define REAL(type, name, parameters)               \
  static type(*real) parameters;                   \
  if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);

static int opened(int file, int flags, int was_there, const char *path) {
  ino_t inode = file < 0 ? 0 : inode_of(file);
  if (inode && !was_there) put('C', inode, 0, 0, path, "", "");
  else if (inode && flags & O_TRUNC) put('T', inode, 0, 0, "", "", "");
  return file;
}

#define OPEN(name, parameters, arguments, folder)                         \
  int name parameters {                                                   \
    REAL(int, name, parameters)                                           \
    char place[PATH_MAX] = "";                                            \
    va_list more;                                                         \
    va_start(more, flags);                                                \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;     \
    va_end(more);                                                         \
    int is_ours = whole(folder, path, place);                             \
    int was_there = !is_ours || !faccessat(AT_FDCWD, place, F_OK, AT_SYMLINK_NOFOLLOW); \
    if (is_ours && !was_there && flags & O_CREAT && fails()) return -1;   \
    return opened(real arguments, flags, was_there, place);               \
  }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)

#define WRITE(name, parameters, arguments, place)  \
  ssize_t name parameters {                        \
    REAL(ssize_t, name, parameters)                \
    ino_t inode = inode_of(file);                  \
    off_t offset = inode ? place : 0;              \
    if (inode && fails()) return -1;               \
    ssize_t done = real arguments;                 \
    if (inode && done > 0) put('W', inode, offset, done, "", "", bytes); \
    return done;                                   \
  }
WRITE(write, (int file, const void *bytes, size_t n), (file, bytes, n), lseek(file, 0, SEEK_CUR))
WRITE(pwrite, (int file, const void *bytes, size_t n, off_t at), (file, bytes, n, at), at)
WRITE(pwrite64, (int file, const void *bytes, size_t n, off64_t at), (file, bytes, n, at), at)

#define OF_FILE(op, name, parameters, arguments, size)      \
  int name parameters {                                     \
    REAL(int, name, parameters)                             \
    ino_t inode = inode_of(file);                           \
    if (inode && op == 'S' && fails()) return -1;           \
    if (inode) put(op, inode, size, 0, "", "", "");         \
    return real arguments;                                  \
  }
OF_FILE('S', fsync, (int file), (file), 0)
OF_FILE('S', fdatasync, (int file), (file), 0)
OF_FILE('T', ftruncate, (int file, off_t size), (file, size), size)
OF_FILE('T', ftruncate64, (int file, off64_t size), (file, size), size)

#define OF_NAME(op, name, parameters, arguments, folder)    \
  int name parameters {                                     \
    REAL(int, name, parameters)                             \
    char place[PATH_MAX];                                   \
    int done = real arguments;                              \
    if (!done && whole(folder, path, place)) put(op, 0, 0, 0, place, "", ""); \
    return done;                                            \
  }
OF_NAME('U', unlink, (const char *path), (path), AT_FDCWD)
OF_NAME('U', rmdir, (const char *path), (path), AT_FDCWD)
OF_NAME('U', unlinkat, (int at, const char *path, int flags), (at, path, flags), at)

int mkdir(const char *path, mode_t mode) {
  REAL(int, mkdir, (const char *, mode_t))
  char place[PATH_MAX];
  struct stat about;
  int done = real(path, mode);
  if (!done && whole(AT_FDCWD, path, place) && !lstat(place, &about)) put('M', about.st_ino, 0, 0, place, "", "");
  return done;
}

int rename(const char *old, const char *new) {
  REAL(int, rename, (const char *, const char *))
  char from[PATH_MAX], to[PATH_MAX];
  int is_ours = whole(AT_FDCWD, old, from) && whole(AT_FDCWD, new, to);
  if (is_ours && fails()) return -1;
  int done = real(old, new);
  if (!done && is_ours) put('R', 0, 0, 0, from, to, "");
  return done;
}
