/* Loads the library at run time, uses it on two threads, closes it, loads it again; forks and executes. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "releasepool.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static rp_pool_token (*push)(void);
static rp_status (*pop)(rp_pool_token, size_t *);
static const rp_class *(*class_new)(const rp_class_desc *);
static void *(*new_autoreleased)(const rp_class *);

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    CHECK(found != NULL);
    return found;
}

static void use(void) {
    rp_class_desc desc = {.name = "loaded", .size = 24};
    const rp_class *type = class_new(&desc);
    CHECK(type);
    rp_pool_token token = push();
    for (int i = 0; i < 1000; i++) {
        CHECK(new_autoreleased(type));
    }
    size_t released;
    CHECK(pop(token, &released) == RP_OK && released == 1000);
}

static void *on_thread(void *unused) {
    (void)unused;
    use();
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count >= 2);
    if (count == 3) {
        return 42;
    }
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        *(void **)&push = find(library, "rp_pool_push");
        *(void **)&pop = find(library, "rp_pool_pop");
        *(void **)&class_new = find(library, "rp_class_new");
        *(void **)&new_autoreleased = find(library, "rp_new_autoreleased");
        use();
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, on_thread, NULL) == 0);
        pthread_join(thread, NULL);
        pid_t child = fork();
        if (child == 0) {
            execl(arguments[0], arguments[0], arguments[1], "executed", (char *)NULL);
            _exit(1);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42);
        CHECK(dlclose(library) == 0);
    }
    return 0;
}
