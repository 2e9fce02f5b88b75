/* Counts the calls that change files below $FAULT_ROOT, and at the k-th one fails as a full disk does, or kills. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long count = 0, at = 0;
static int killing = 0, full = 0;

void fault_set(long k, int kill_it) { count = 0; at = k; killing = kill_it; full = 0; }
long fault_count(void) { return count; }

static int below(const char *path) {
    const char *root = getenv("FAULT_ROOT");
    return root && path && !strncmp(path, root, strlen(root));
}

static int below_at(int dir, const char *path) {
    char full_path[4096], here[64];
    if (path[0] == '/') return below(path);
    if (dir == AT_FDCWD) return getcwd(full_path, sizeof full_path) && below(full_path);
    snprintf(here, sizeof here, "/proc/self/fd/%d", dir);
    ssize_t n = readlink(here, full_path, sizeof full_path - 1);
    if (n < 0) return 0;
    full_path[n] = 0;
    return below(full_path);
}

static int below_fd(int fd) {
    char path[4096], link[64];
    struct stat found;
    if (fstat(fd, &found) || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return below(path);
}

/* Whether the call fails: the disk stays full from the k-th call on. `grows` is a call that needs room. */
static int fails(int matters, int grows) {
    if (!matters || !at) return 0;
    if (++count == at) {
        if (killing) kill(getpid(), SIGKILL);
        full = 1;
    }
    if (full && grows) { errno = ENOSPC; return 1; }
    return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *b, size_t n) { return fails(below_fd(fd), 1) ? -1 : REAL(write)(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { return fails(below_fd(fd), 1) ? -1 : REAL(pwrite)(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { return fails(below_fd(fd), 1) ? -1 : REAL(pwrite64)(fd, b, n, o); }
int fsync(int fd) { return fails(below_fd(fd), 1) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(below_fd(fd), 1) ? -1 : REAL(fdatasync)(fd); }
int mkdir(const char *p, mode_t m) { return fails(below_at(AT_FDCWD, p), 1) ? -1 : REAL(mkdir)(p, m); }
int rename(const char *a, const char *b) { return fails(below_at(AT_FDCWD, a), 1) ? -1 : REAL(rename)(a, b); }
int link(const char *a, const char *b) { return fails(below_at(AT_FDCWD, a), 1) ? -1 : REAL(link)(a, b); }
int unlink(const char *p) { return fails(below_at(AT_FDCWD, p), 0) ? -1 : REAL(unlink)(p); }
int rmdir(const char *p) { return fails(below_at(AT_FDCWD, p), 0) ? -1 : REAL(rmdir)(p); }
int ftruncate(int fd, off_t n) { return fails(below_fd(fd), 0) ? -1 : REAL(ftruncate)(fd, n); }
int ftruncate64(int fd, off64_t n) { return fails(below_fd(fd), 0) ? -1 : REAL(ftruncate64)(fd, n); }
int chmod(const char *p, mode_t m) { return fails(below_at(AT_FDCWD, p), 0) ? -1 : REAL(chmod)(p, m); }

static int opens(int dir, const char *p, int flags) { return (flags & O_CREAT) && fails(below_at(dir, p), 1); }
static mode_t mode_of(int flags, va_list more) { return flags & O_CREAT ? va_arg(more, int) : 0; }

int open(const char *p, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opens(AT_FDCWD, p, flags) ? -1 : REAL(open)(p, flags, mode);
}
int open64(const char *p, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opens(AT_FDCWD, p, flags) ? -1 : REAL(open64)(p, flags, mode);
}
int openat(int dir, const char *p, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opens(dir, p, flags) ? -1 : REAL(openat)(dir, p, flags, mode);
}
int openat64(int dir, const char *p, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opens(dir, p, flags) ? -1 : REAL(openat64)(dir, p, flags, mode);
}
