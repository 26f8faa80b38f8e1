/* Makes the calls of CALLS, a file that tests/all/nulls.rs writes, each in a process of its own. Prints a line
 * for each: the call, its result and the error, or how the process has ended. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "releasepool.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The arguments that are not NULL: one function for each type, or for each name where the type says nothing. */

static void nothing(void *data) { (void)data; }
static void no_text(const char *text, void *data) { (void)text, (void)data; }
static void no_leak(const rp_leak *leak, void *data) { (void)leak, (void)data; }
static void no_name(const void *table, char *to, size_t size) { (void)table, (void)to, (void)size; }

static const rp_class *of_class(size_t payload_offset) {
    const rp_class_desc desc = {"texture", 32, 8, payload_offset, NULL, 0};
    return rp_class_new(&desc);
}
static const rp_class *some_rp_class(void) { return of_class(16); }
static void *some_object(void) { return rp_new(of_class(0)); }
static const void *some_expected(void) { return NULL; }
static void *some_data(void) {
    static int data;
    return &data;
}
static void *some_memory(void) { return rp_memory_alloc(rp_thread_context_get(), 32, 8); }
static const char *some_name(void) { return "name"; }

static const rp_thread_context *some_rp_thread_context(void) { return rp_thread_context_get(); }
static rp_manager *some_rp_manager(void) { return rp_manager_new("manager"); }
static rp_thread *some_rp_thread(void) { return rp_thread_current(); }
static rp_handoff *some_rp_handoff(void) { return rp_handoff_new(); }
static rp_slot *some_rp_slot(void) { return rp_slot_new(NULL); }
static rp_frame_loop *some_rp_frame_loop(void) { return rp_frame_loop_new(NULL); }
static rp_frame_proxy *some_rp_frame_proxy(void) { return rp_frame_proxy_new(some_rp_frame_loop()); }
static rp_post *some_rp_post(void) { return rp_frame_proxy_post_after(some_rp_frame_proxy(), 1000, nothing, NULL); }
static rp_blocks *some_rp_blocks(void) { return rp_blocks_new(0); }
static rp_pool_token some_rp_pool_token(void) { return rp_pool_push(); }
static rp_pool *some_rp_pool(void) {
    static rp_pool pool;
    CHECK(rp_pool_open(&pool, NULL) == RP_OK);
    return &pool;
}

static size_t *some_size_t(void) {
    static size_t size;
    return &size;
}
static bool *some_bool(void) {
    static bool flag;
    return &flag;
}
static rp_drained *some_rp_drained(void) {
    static rp_drained drained;
    return &drained;
}
static rp_frame_report *some_rp_frame_report(void) {
    static rp_frame_report report;
    return &report;
}
static rp_figures *some_rp_figures(void) {
    static rp_figures figures;
    return &figures;
}
static rp_blocks_figures *some_rp_blocks_figures(void) {
    static rp_blocks_figures figures;
    return &figures;
}

static long result;

int main(void) {
    const struct rlimit no_dump = {0, 0};
    setrlimit(RLIMIT_CORE, &no_dump);
    int status;
#define CALL(what, made)                                                                     \
    fflush(stdout);                                                                          \
    if (fork() == 0) {                                                                       \
        made;                                                                                \
        printf("%s|%ld|%s\n", what, result, rp_last_error());                                \
        fflush(stdout);                                                                      \
        _exit(0);                                                                            \
    }                                                                                        \
    wait(&status);                                                                           \
    if (status != 0) {                                                                       \
        printf("%s|ended|%d\n", what, status);                                               \
    }
#include CALLS
    return 0;
}
