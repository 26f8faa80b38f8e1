/* Calls every function of releasepool.h, with good arguments and with bad ones other than NULL,
 * which nulls.c passes for every pointer. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "releasepool.h"
#include <pthread.h>
#include <string.h>

typedef struct node {
    int value;
    void *next;
} node;

static int destroyed;

static void node_destroy(void *object) {
    node *n = object;
    destroyed++;
    if (n->next) {
        rp_release(n->next);
    }
}

static const rp_class *node_class;
static const rp_class *plain_class;

static node *new_node(int value) {
    node *n = rp_new(node_class);
    CHECK(n && n->value == 0 && n->next == NULL);
    n->value = value;
    return n;
}

#define FAILS(call, expected) CHECK((call) == (expected) && strlen(rp_last_error()) > 0)

static rp_pool drained_pool;
static int intruded;

static void intrude(void *object) {
    (void)object;
    intruded++;
    FAILS(rp_pool_close(&drained_pool), RP_DRAINING);
    FAILS(rp_pool_drain(&drained_pool, NULL), RP_DRAINING);
    FAILS(rp_pool_drain_within(&drained_pool, 1, 0, NULL), RP_DRAINING);
}

static void classes(void) {
    rp_class_desc desc = {0};
    CHECK(rp_class_new(&desc) == NULL && strstr(rp_last_error(), "name"));
    desc.name = "node";
    desc.size = sizeof(node);
    desc.align = 3;
    CHECK(rp_class_new(&desc) == NULL && strstr(rp_last_error(), "power of two"));
    desc.align = 0;
    desc.size = SIZE_MAX - 4;
    CHECK(rp_class_new(&desc) == NULL && strstr(rp_last_error(), "too large"));
    desc.size = sizeof(node);
    desc.frees_memory = 1;
    CHECK(rp_class_new(&desc) == NULL);
    /* With `frees_memory`, there must be room for a word before the header. */
    desc.destroy = node_destroy;
    desc.payload_offset = 16;
    CHECK(rp_class_new(&desc) == NULL && strstr(rp_last_error(), "no room"));
    desc.payload_offset = 0;
    desc.frees_memory = 0;
    desc.align = SIZE_MAX / 2 + 1;
    CHECK(rp_class_new(&desc) == NULL && strstr(rp_last_error(), sizeof(size_t) == 8 ? "alignment" : "too large"));
    desc.align = 0;
    node_class = rp_class_new(&desc);
    desc.name = "plain";
    desc.destroy = NULL;
    desc.align = 64;
    plain_class = rp_class_new(&desc);
    CHECK(node_class && plain_class && node_class != plain_class);
    void *aligned = rp_new(plain_class);
    CHECK((uintptr_t)aligned % 64 == 0);
    CHECK(rp_is_of(aligned, plain_class) && !rp_is_of(aligned, node_class));
    char *name = rp_type_name(aligned);
    CHECK(strcmp(name, "plain") == 0);
    rp_text_free(name);
    CHECK(rp_release(aligned) == RP_OK);
}

static void objects(void) {
    FAILS(rp_release((void *)3), RP_INVALID);

    destroyed = 0;
    node *n = new_node(1);
    CHECK(rp_strong_count(n) == 1);
    CHECK(rp_retain(n) == n && rp_strong_count(n) == 2);
    CHECK(rp_release(n) == RP_OK && destroyed == 0);
    n->next = new_node(2);
    CHECK(rp_release(n) == RP_OK && destroyed == 2);

    /* A chain of 100,000 dies in constant stack. */
    destroyed = 0;
    node *first = NULL;
    for (int i = 0; i < 100000; i++) {
        node *next = new_node(i);
        next->next = first;
        first = next;
    }
    CHECK(rp_release(first) == RP_OK && destroyed == 100000);
}

static void weak_references(void) {
    destroyed = 0;
    node *n = new_node(1);
    rp_weak *weak = rp_weak_new(n);
    rp_weak *other = rp_weak_retain(weak);
    CHECK(rp_weak_count(n) == 2);
    CHECK(rp_weak_load(weak) == n && rp_strong_count(n) == 2);
    rp_release(n);
    rp_release(n);
    CHECK(destroyed == 1 && rp_weak_load(weak) == NULL && rp_weak_load(other) == NULL);
    CHECK(rp_weak_release(weak) == RP_OK && rp_weak_release(other) == RP_OK);
}

/* Releases a foreign object, an int: writes the number of releases so far into it. */
static void give_up(void *object) {
    static int times;
    *(int *)object = ++times;
}

static void append(const char *text, void *to) { strncat(to, text, 4000 - strlen(to)); }

static void note_pools(void *was_without_pool) { *(bool *)was_without_pool = rp_is_without_pool(); }

static void pools(void) {
    size_t released = 9;
    destroyed = 0;
    CHECK(rp_is_without_pool());
    rp_pool_token outer = rp_pool_push();
    CHECK(!rp_is_without_pool());
    node *n = new_node(1);
    CHECK(rp_autorelease(n) == n);
    rp_pool_token inner = rp_pool_push_named("inner");
    rp_new_autoreleased(node_class);
    rp_autorelease(rp_retain(n));
    CHECK(rp_is_in_pools(n));
    CHECK(rp_pool_pop(inner, &released) == RP_OK && released == 2 && destroyed == 1);
    FAILS(rp_pool_pop(inner, &released), RP_STALE);
    CHECK(rp_pool_pop(outer, NULL) == RP_OK && destroyed == 2);
    rp_pool_token nothing = {{0, 0, 0}};
    FAILS(rp_pool_pop(nothing, NULL), RP_STALE);

    /* Foreign objects, which the library does not count. */
    int given_up[2] = {0, 0};
    outer = rp_pool_push();
    CHECK(rp_autorelease_foreign(&given_up[0], give_up) == RP_OK);
    CHECK(rp_autorelease_foreign(&given_up[1], give_up) == RP_OK && given_up[1] == 0);
    CHECK(rp_pool_pop(outer, &released) == RP_OK && released == 2);
    CHECK(given_up[1] != 0 && given_up[0] == given_up[1] + 1);

    /* The root pool. */
    rp_set_event_hook(append, (char[4096]){0});
    rp_autorelease(new_node(3));
    bool was_without_pool = true;
    CHECK(rp_autorelease_foreign(&was_without_pool, note_pools) == RP_OK && rp_is_without_pool());
    CHECK(rp_drain_root(NULL, &released) == RP_OK && released == 2 && destroyed == 3 && !was_without_pool);
    rp_set_event_hook(NULL, NULL);

    /* In place. */
    rp_pool pool = {0};
    FAILS(rp_pool_drain(&pool, NULL), RP_STALE);
    CHECK(rp_pool_open(&pool, "place") == RP_OK);
    n = new_node(4);
    rp_pool above;
    CHECK(rp_pool_is_current(&pool) && rp_pool_open(&above, NULL) == RP_OK);
    CHECK(!rp_pool_is_current(&pool) && rp_pool_is_current(&above));
    CHECK(rp_pool_add(&pool, rp_retain(n)) == RP_OK && rp_pool_add(&pool, n) == RP_OK);
    CHECK(rp_pool_len(&pool) == 2 && rp_pool_len(&above) == 0);
    CHECK(rp_pool_contains(&pool, n) && !rp_pool_contains(&above, n));
    char text[4096] = "";
    CHECK(rp_pool_dump(&pool, append, text) == RP_OK);
    CHECK(strstr(text, "pool \"place\"") && strstr(text, "node"));
    CHECK(rp_pool_close(&above) == RP_OK);
    FAILS(rp_pool_close(&above), RP_STALE);
    CHECK(rp_pool_drain(&pool, &released) == RP_OK && released == 2 && destroyed == 4);
    for (int i = 0; i < 10; i++) {
        rp_pool_add(&pool, new_node(i));
    }
    rp_drained drained;
    CHECK(rp_pool_drain_within(&pool, 4, 0, &drained) == RP_OK);
    CHECK(drained.released == 4 && drained.remaining == 6 && destroyed == 8);
    CHECK(rp_drain_backlog(NULL, 0, 0, &drained) == RP_OK && drained.released == 6);
    CHECK(rp_pool_close(&pool) == RP_OK);

    /* A destructor finds the pool being drained. */
    rp_class_desc desc = {"intruder", 8, 0, 0, intrude, 0};
    const rp_class *intruder = rp_class_new(&desc);
    CHECK(rp_pool_open(&drained_pool, NULL) == RP_OK);
    for (int i = 0; i < 3; i++) {
        rp_pool_add(&drained_pool, rp_new(intruder));
    }
    CHECK(rp_pool_drain(&drained_pool, &released) == RP_OK && released == 3 && intruded == 3);
    rp_pool_add(&drained_pool, rp_new(intruder));
    CHECK(rp_pool_drain_within(&drained_pool, 1, 0, NULL) == RP_OK && intruded == 4);
    CHECK(rp_pool_close(&drained_pool) == RP_OK);

    rp_pool_token callback = rp_callback_begin();
    rp_autorelease(new_node(5));
    CHECK(rp_callback_end(callback) == RP_OK && destroyed == 15);
    /* Without a pool around it, a callback clears the root pool, too. */
    rp_set_event_hook(append, (char[4096]){0});
    rp_autorelease(new_node(6));
    rp_set_event_hook(NULL, NULL);
    CHECK(destroyed == 15 && rp_callback_end(rp_callback_begin()) == RP_OK && destroyed == 16);
    FAILS(rp_callback_end(callback), RP_STALE);
}

static rp_pool_token popped_inside;

static void pop_inside(void *object) {
    (void)object;
    CHECK(rp_pool_pop(popped_inside, NULL) == RP_DRAINING);
}

static void destructors_in_pools(void) {
    rp_class_desc desc = {.name = "popper", .size = 8, .destroy = pop_inside};
    const rp_class *popper = rp_class_new(&desc);
    popped_inside = rp_pool_push();
    rp_new_autoreleased(popper);
    CHECK(rp_pool_pop(popped_inside, NULL) == RP_OK);
}

static void managers(void) {
    size_t released;
    rp_manager *manager = rp_manager_new("own");
    rp_pool_token token = rp_manager_push(manager, "pool");
    CHECK(rp_manager_autorelease(manager, new_node(1)) == RP_OK);
    FAILS(rp_pool_pop(token, NULL), RP_WRONG_MANAGER);
    CHECK(rp_manager_pop(manager, token, &released) == RP_OK && released == 1);
    CHECK(rp_manager_set_root_watermark(manager, 2, true) == RP_OK);
    rp_set_event_hook(append, (char[4096]){0});
    for (int i = 0; i < 3; i++) {
        rp_manager_autorelease(manager, new_node(i));
    }
    CHECK(rp_boundary(manager, &released) == RP_OK && released == 3);
    rp_set_event_hook(NULL, NULL);
    char text[4096] = "";
    CHECK(rp_snapshot_text(manager, append, text) == RP_OK && strstr(text, "live objects"));
    rp_figures figures;
    CHECK(rp_snapshot(NULL, &figures) == RP_OK);
    CHECK(figures.threads == 1 && figures.live_objects == 0 && figures.created > 100000);
    node *n = new_node(1);
    CHECK(rp_snapshot(NULL, &figures) == RP_OK && figures.live_objects == 1);
    rp_release(n);
    CHECK(rp_manager_free(manager) == RP_OK);
    size_t objects = 7;
    rp_status leaks = rp_leaks(NULL, NULL, &objects);
    CHECK(leaks == RP_UNAVAILABLE || (leaks == RP_OK && objects == 0));
}

/* Threads. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stage;

static void reach(int n) {
    pthread_mutex_lock(&lock);
    stage = n;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for(int n) {
    pthread_mutex_lock(&lock);
    while (stage < n) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static rp_thread *worker_handle;
static int posted, woken;
static pthread_t destroyed_on;

static void note_thread(void *object) {
    (void)object;
    destroyed_on = pthread_self();
}

static void post(void *data) { posted += *(int *)data; }
static void wake(void *data) { __atomic_fetch_add((int *)data, 1, __ATOMIC_SEQ_CST); }

static void *worker(void *unused) {
    (void)unused;
    worker_handle = rp_thread_current();
    rp_inbox_hook *hook = rp_inbox_hook_set(wake, &woken);
    CHECK(hook);
    reach(1);
    wait_for(2);
    size_t ran = 0;
    CHECK(rp_run_inbox(&ran) == RP_OK && ran == 1);
    CHECK(pthread_equal(destroyed_on, pthread_self()));
    CHECK(rp_inbox_hook_clear(hook) == RP_OK);
    reach(3);
    wait_for(4);
    return NULL;
}

static void threads(void) {
    rp_class_desc desc = {.name = "noter", .size = 8, .destroy = note_thread};
    const rp_class *noter = rp_class_new(&desc);
    rp_thread *own = rp_thread_current();
    rp_thread *same = rp_thread_find(rp_thread_key(own));
    CHECK(own && same && rp_thread_key(own) != 0 && rp_thread_key(same) == rp_thread_key(own));
    CHECK(rp_thread_find(12345678901) == NULL);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, worker, NULL) == 0);
    wait_for(1);
    rp_thread *copy = rp_thread_clone(worker_handle);
    CHECK(rp_thread_is_alive(copy));
    int five = 5;
    CHECK(rp_thread_post(copy, post, &five) == RP_OK);
    CHECK(__atomic_load_n(&woken, __ATOMIC_SEQ_CST) >= 1);
    CHECK(rp_thread_release(copy, rp_new(noter)) == RP_OK);
    rp_handoff *handoff = rp_handoff_new();
    destroyed = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(rp_handoff_add(handoff, new_node(i)) == RP_OK);
    }
    size_t sent = 0;
    CHECK(rp_handoff_len(handoff) == 3);
    CHECK(rp_handoff_drain_on(handoff, copy, &sent) == RP_OK && sent == 3);
    CHECK(rp_handoff_len(handoff) == 0);

    reach(2);
    wait_for(3);
    CHECK(posted == 5 && destroyed == 3);
    rp_handoff_add(handoff, new_node(1));
    CHECK(rp_handoff_drain(handoff, &sent) == RP_OK && sent == 1 && destroyed == 4);
    CHECK(rp_handoff_free(handoff) == RP_OK);
    reach(4);
    pthread_join(thread, NULL);
    CHECK(!rp_thread_is_alive(copy));
    FAILS(rp_thread_post(copy, post, &five), RP_CLOSED);
    CHECK(rp_thread_release(copy, new_node(1)) == RP_OK);
    CHECK(rp_quiesce(NULL, 1000000000) == RP_OK && destroyed == 5);
    rp_thread_free(copy);
    rp_thread_free(worker_handle);
    rp_thread_free(same);
    CHECK(rp_thread_free(own) == RP_OK);
}

typedef struct shared {
    rp_pool_token token;
    rp_pool pool;
    rp_home *home;
    rp_frame_loop *loop;
    rp_inbox_hook *hook;
} shared;

static void *elsewhere(void *data) {
    shared *s = data;
    FAILS(rp_pool_pop(s->token, NULL), RP_WRONG_THREAD);
    FAILS(rp_pool_drain(&s->pool, NULL), RP_WRONG_THREAD);
    FAILS(rp_pool_close(&s->pool), RP_WRONG_THREAD);
    FAILS(rp_frame_loop_tick(s->loop, NULL, NULL, NULL), RP_WRONG_THREAD);
    FAILS(rp_frame_loop_free(s->loop), RP_WRONG_THREAD);
    FAILS(rp_frame_loop_set_wake_hook(s->loop, NULL, NULL), RP_WRONG_THREAD);
    CHECK(rp_frame_proxy_new(s->loop) == NULL && strstr(rp_last_error(), "another thread"));
    FAILS(rp_inbox_hook_clear(s->hook), RP_WRONG_THREAD);
    FAILS(rp_pool_add(&s->pool, s), RP_WRONG_THREAD);
    FAILS(rp_pool_drain_within(&s->pool, 1, 0, NULL), RP_WRONG_THREAD);
    CHECK(rp_pool_len(&s->pool) == 0 && strstr(rp_last_error(), "another thread"));
    CHECK(rp_home_get(s->home) == NULL && rp_home_key(s->home) != 0);
    CHECK(rp_home_release(s->home) == RP_OK);
    return NULL;
}

static void on_the_wrong_thread(void) {
    shared s;
    s.token = rp_pool_push();
    CHECK(rp_pool_open(&s.pool, NULL) == RP_OK);
    s.loop = rp_frame_loop_new(NULL);
    s.hook = rp_inbox_hook_set(wake, &woken);
    destroyed = 0;
    node *n = new_node(1);
    s.home = rp_home_new(n);
    CHECK(rp_home_get(s.home) == n);
    rp_home *again = rp_home_retain(s.home);
    CHECK(rp_home_release(again) == RP_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, elsewhere, &s) == 0);
    pthread_join(thread, NULL);
    CHECK(destroyed == 0);
    CHECK(rp_run_inbox(NULL) == RP_OK && destroyed == 1);
    CHECK(rp_inbox_hook_clear(s.hook) == RP_OK);
    CHECK(rp_frame_loop_free(s.loop) == RP_OK);
    CHECK(rp_pool_close(&s.pool) == RP_OK && rp_pool_pop(s.token, NULL) == RP_OK);
}

static void slots(void) {
    destroyed = 0;
    rp_slot *slot = rp_slot_new(NULL);
    CHECK(rp_slot_load(slot) == NULL);
    node *a = new_node(1), *b = new_node(2);
    CHECK(rp_slot_store(slot, rp_retain(a)) == RP_OK);
    CHECK(rp_slot_load(slot) == a && rp_strong_count(a) == 3);
    rp_release(a);
    bool exchanged = true;
    CHECK(rp_slot_compare_exchange(slot, b, b, &exchanged) == RP_OK && !exchanged);
    CHECK(rp_slot_compare_exchange(slot, a, rp_retain(b), &exchanged) == RP_OK && exchanged);
    rp_pool pool;
    rp_pool_open(&pool, NULL);
    CHECK(rp_slot_load_in(slot, &pool) == b);
    CHECK(rp_slot_swap(slot, NULL) == b);
    rp_release(b);
    rp_release(b);
    CHECK(b->value == 2 && destroyed == 0);
    rp_pool_close(&pool);
    rp_release(a);
    CHECK(rp_quiesce(NULL, 1000000000) == RP_OK && destroyed == 2);
    CHECK(rp_slot_free(slot) == RP_OK);
}

static int frames;
static rp_frame_loop *ticking;

static void frame(void *data) {
    (void)data;
    frames++;
    rp_autorelease(new_node(frames));
    FAILS(rp_frame_loop_tick(ticking, NULL, NULL, NULL), RP_DRAINING);
    FAILS(rp_frame_loop_free(ticking), RP_DRAINING);
}

static void frame_loops(void) {
    destroyed = posted = 0;
    int woken_here = 0, one = 1;
    rp_frame_config config = {0, 1000000};
    ticking = rp_frame_loop_new(&config);
    CHECK(ticking);
    CHECK(rp_frame_loop_set_wake_hook(ticking, wake, &woken_here) == RP_OK);
    rp_frame_proxy *proxy = rp_frame_proxy_new(ticking);
    CHECK(proxy);
    rp_frame_report report;
    CHECK(rp_frame_loop_tick(ticking, frame, NULL, &report) == RP_OK);
    CHECK(frames == 1 && destroyed == 1 && report.index == 0 && report.drained.released == 1);
    CHECK(rp_frame_proxy_post(proxy, post, &one) == RP_OK);
    CHECK(woken_here >= 1 && posted == 0);
    CHECK(rp_frame_loop_tick(ticking, NULL, NULL, &report) == RP_OK && posted == 1);
    CHECK(report.closures == 1 && report.index == 1);
    rp_post *now = rp_frame_proxy_post_after(proxy, 0, post, &one);
    rp_post *never = rp_frame_proxy_post_after(proxy, 3600000000000, post, &one);
    CHECK(now && never);
    CHECK(rp_frame_loop_tick(ticking, NULL, NULL, NULL) == RP_OK && posted == 2);
    CHECK(rp_frame_proxy_cancel(proxy, never) && !rp_frame_proxy_cancel(proxy, now));
    CHECK(rp_post_free(now) == RP_OK && rp_post_free(never) == RP_OK);
    CHECK(rp_frame_loop_set_wake_hook(ticking, NULL, NULL) == RP_OK);
    CHECK(rp_frame_loop_free(ticking) == RP_OK);
    FAILS(rp_frame_proxy_post(proxy, post, &one), RP_CLOSED);
    CHECK(rp_frame_proxy_free(proxy) == RP_OK);
}

static void memory(void) {
    rp_blocks *blocks = rp_blocks_new(0);
    void *memory = rp_blocks_alloc(blocks, 40, 8);
    memset(memory, 1, 40);
    rp_blocks_figures figures;
    CHECK(rp_blocks_stats(blocks, &figures) == RP_OK && figures.live_blocks == 1);
    CHECK(rp_blocks_alloc(blocks, 40, 3) == NULL && rp_blocks_alloc(blocks, 0, 8) == NULL);
    FAILS(rp_blocks_dealloc(blocks, memory, 40, 3), RP_INVALID);
    CHECK(rp_blocks_dealloc(blocks, memory, 40, 8) == RP_OK);
    size_t freed = 0;
    CHECK(rp_blocks_trim(blocks, &freed) == RP_OK && freed > 0);
    CHECK(rp_blocks_free(blocks) == RP_OK);
    rp_blocks *capped = rp_blocks_new(1);
    CHECK(rp_blocks_alloc(capped, 40, 8) == NULL && strlen(rp_last_error()) > 0);
    CHECK(rp_blocks_alloc(capped, 4000, 8) == NULL);
    rp_blocks_free(capped);

    rp_stack *stack = rp_stack_new(1024);
    for (int i = 1; i < 100; i++) {
        char *at = rp_stack_alloc(stack, (size_t)i);
        CHECK(at && (uintptr_t)at % 16 == 0);
        memset(at, i, (size_t)i);
    }
    CHECK(rp_stack_high_water(stack) >= 4950);
    CHECK(rp_stack_reset(stack) == RP_OK);
    CHECK(rp_stack_alloc(stack, 4000));
    CHECK(rp_stack_free(stack) == RP_OK);
    CHECK(rp_stack_new(SIZE_MAX / 2) == NULL);
}

static void events(void) {
    char text[4096] = "";
    rp_class_desc desc = {.name = "stray", .size = 8};
    CHECK(rp_set_event_hook(append, text) == RP_OK);
    rp_new_autoreleased(rp_class_new(&desc));
    CHECK(strstr(text, "stray"));
    /* Events name no place in the library's sources. Each call has a class of its own, as repeated events
     * are left out. */
    desc.name = "second";
    rp_autorelease(rp_new(rp_class_new(&desc)));
    desc.name = "third";
    CHECK(rp_manager_autorelease(NULL, rp_new(rp_class_new(&desc))) == RP_OK);
    desc.name = "fourth";
    rp_embedded_create(rp_thread_context_get(), rp_class_new(&desc));
    desc.name = "fifth";
    rp_embedded_autorelease(rp_thread_context_get(), rp_new(rp_class_new(&desc)));
    CHECK(strstr(text, "second") && strstr(text, "third") && strstr(text, "fourth"));
    CHECK(strstr(text, "fifth") && !strstr(text, ".rs"));
    rp_set_event_hook(NULL, NULL);
    rp_drain_root(NULL, NULL);
}

static rp_status finished_inside;

static void finish_inside(void *object) {
    note_thread(object);
    finished_inside = rp_finish_releases(1000000000);
}

static void releases_later(void) {
    rp_class_desc desc = {.name = "later", .size = 8, .destroy = finish_inside};
    const rp_class *type = rp_class_new(&desc);
    CHECK(rp_finish_releases(0) == RP_OK);
    destroyed_on = pthread_self();
    void *object = rp_new(type);
    CHECK(rp_release_later(rp_retain(object)) == RP_OK);
    CHECK(rp_finish_releases(60000000000) == RP_OK && rp_strong_count(object) == 1);
    CHECK(rp_release_later(object) == RP_OK);
    CHECK(rp_finish_releases(60000000000) == RP_OK);
    CHECK(!pthread_equal(destroyed_on, pthread_self()) && finished_inside == RP_TIMED_OUT);
}

int main(void) {
    CHECK(strcmp(rp_last_error(), "") == 0);
    CHECK(strcmp(rp_version(), "0.1.0") == 0);
    CHECK(strcmp(rp_status_name(RP_STALE), "closed already") == 0);
    CHECK(strcmp(rp_status_name(99), "unknown status") == 0);
    CHECK(rp_header_layout_get().header_bytes == 16);
    classes();
    objects();
    weak_references();
    pools();
    destructors_in_pools();
    managers();
    threads();
    on_the_wrong_thread();
    slots();
    frame_loops();
    memory();
    events();
    releases_later();
    CHECK(rp_shutdown(NULL, 1000000000) == RP_OK);
    return 0;
}
