/* releasepool: counted objects and autorelease pools that are safe and fast on every thread.
 *
 * Words that this file uses:
 *
 *   object      the address of an object's payload, as `rp_new` returns it. The payload holds the
 *               fields of the class. The 16 bytes before it are the library's header. Rust's
 *               `Ref::into_raw` of a sized type returns such an address, too, with a reference: all
 *               functions take it, and `Ref::from_raw` of the same type takes it back. An object of
 *               another runtime has no such header: see rp_autorelease_foreign.
 *   reference   what keeps an object alive. A reference is counted, and belongs to one owner: a
 *               variable of the program, a pool, a slot, a message.
 *
 * Each function says who owns what, in one of these phrases:
 *
 *   Ownership: the caller owns the result.        Give it up by the function that the text names.
 *   Ownership: the result is lent.                Valid as long as the text says; nothing to give up.
 *   Ownership: takes the argument.                The caller's reference or handle is given up.
 *   Ownership: takes the argument unless it fails. After an error, the argument is still the caller's.
 *   Ownership: borrows the arguments.             Nothing changes hands.
 *   Ownership: none.                              Plain values only.
 *
 * Threads: "any thread" means any thread at any time. Threads need not be announced.
 *
 * Errors: functions that return `rp_status` return `RP_OK` or an error. Functions that return a pointer
 * return NULL after an error, and other values as their text says. `rp_last_error` then returns a
 * message. A pointer that is not what the text says (a freed object, for example) is undefined behaviour
 * unless the library was built with its feature `checks`: such a library aborts with a message for dead
 * objects, overwritten headers and releases that are one too many.
 *
 * NULL: every function accepts NULL for every pointer. An argument `p` is optional if the text says
 * that it "may be NULL". `data` is passed on as it is, and a NULL `const rp_manager *` is the
 * global manager. Any other NULL is an error, after which nothing was done: functions that return
 * `rp_status` return RP_NULL, others what their text says, and the message of rp_last_error names
 * the function and the argument. rp_abort_retain aborts, as it always does.
 *
 * Functions of the program that the library calls must return: no longjmp, no C++ exception.
 */
#ifndef RELEASEPOOL_H
#define RELEASEPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors -------------------------------------------------------------------------------------- */

typedef enum rp_status {
    RP_OK = 0,
    RP_NULL = 1,          /* a pointer that must not be NULL is NULL */
    RP_INVALID = 2,       /* an argument makes no sense */
    RP_STALE = 3,         /* the pool or token has been closed already */
    RP_WRONG_THREAD = 4,  /* the pool, token, loop or hook belongs to another thread */
    RP_WRONG_MANAGER = 5, /* the token belongs to another manager */
    RP_DRAINING = 6,      /* the pool or loop is in use further up the call stack */
    RP_CLOSED = 7,        /* the thread or loop takes no posts any more */
    RP_NO_MEMORY = 8,     /* there is no memory */
    RP_PANIC = 9,         /* code in Rust has panicked; the call is over, and nothing is lost */
    RP_TIMED_OUT = 10,    /* the deadline has passed */
    RP_UNAVAILABLE = 11   /* this build lacks the function's feature, or the thread is ending */
} rp_status;

/* Returns the message of the calling thread's last error, or "".
 * Ownership: the result is lent. Until the thread's next error.
 * Threads: any thread. Errors: none. */
const char *rp_last_error(void);

/* Returns the name of a status.
 * Ownership: the result is lent. For ever.
 * Threads: any thread. Errors: "unknown status". */
const char *rp_status_name(uint32_t status);

/* Returns the version of the library, such as "0.1.0".
 * Ownership: the result is lent. For ever.
 * Threads: any thread. Errors: none. */
const char *rp_version(void);

/* ---- Classes ------------------------------------------------------------------------------------- */

typedef struct rp_class rp_class;

typedef struct rp_class_desc {
    const char *name;              /* for reports */
    size_t size;                   /* of a payload; of a whole object if payload_offset is not 0 */
    size_t align;                  /* of the same; 0 stands for the alignment of malloc */
    size_t payload_offset;         /* 0, unless the object embeds its header: see releasepool.hpp */
    void (*destroy)(void *object); /* ends the fields of a dying object; may be NULL */
    uint32_t frees_memory;         /* 1 if `destroy` does, with payload_offset >= 24; else 0 */
} rp_class_desc;

/* Makes a class; make each class once, and keep it in a static variable. It lives as long as the
 * process. The first 2048 classes have names of their own in reports.
 * Ownership: the result is lent. For ever.
 * Threads: any thread. Errors: NULL if `desc` or its name is NULL, or the sizes make no sense. */
const rp_class *rp_class_new(const rp_class_desc *desc);

/* ---- Objects ------------------------------------------------------------------------------------- */

/* Makes an object with one reference; its payload is all zeros.
 * Ownership: the caller owns the result. Give it up by rp_release or rp_autorelease.
 * Threads: any thread. Errors: NULL if `type` is NULL or there is no memory. */
void *rp_new(const rp_class *type);

/* Makes an object that the calling thread's current pool owns. In a destructor of a static or thread-local
 * that runs after the library has left the thread, only a pool that was opened since then can be
 * current: without one, the object dies before the call returns.
 * Ownership: the result is lent. Until that pool is drained.
 * Threads: any thread. Errors: as rp_new. */
void *rp_new_autoreleased(const rp_class *type);

/* Adds a reference, and returns `object`.
 * Ownership: the caller owns the result. Give it up by rp_release or rp_autorelease.
 * Threads: any thread. Errors: NULL if `object` is NULL. */
void *rp_retain(void *object);

/* Gives up a reference. The last one destroys the object, on the calling thread.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL, RP_INVALID. */
rp_status rp_release(void *object);

/* Moves a reference into the calling thread's current pool, or if none is open, into its root pool,
 * which rp_drain_root and the thread's end drain. The drain gives it up. Returns `object`. In a
 * destructor of a static or thread-local that runs after the library has left the thread, there is
 * no root pool: if no pool was opened since then, the reference is given up at once.
 * Ownership: takes the argument. The result is lent until that pool is drained.
 * Threads: any thread. Errors: NULL if `object` is NULL. */
void *rp_autorelease(void *object);

/* Sends a reference to a thread of the library, which gives it up: so destroying a large structure
 * does not delay the caller. The first call starts that thread, on which the destructors must be
 * allowed to run. Blocks while very many objects wait. Call rp_finish_releases before the process
 * ends: objects that still wait then are never destroyed.
 * Ownership: takes the argument unless it fails.
 * Threads: any thread. Errors: RP_NULL, RP_INVALID. */
rp_status rp_release_later(void *object);

/* Waits, at most for this time, until all references that rp_release_later got are given up and the library's
 * thread for them has ended. The next rp_release_later starts the thread again.
 * Ownership: none.
 * Threads: any thread. Errors: RP_TIMED_OUT, which a destructor on that thread gets at once. */
rp_status rp_finish_releases(uint64_t nanoseconds);

/* Returns the number of references. Other threads may change it at any time.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: 0 if `object` is NULL. */
size_t rp_strong_count(const void *object);

/* Returns the number of weak references. Other threads may change it at any time.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: 0 if `object` is NULL. */
size_t rp_weak_count(const void *object);

/* Returns whether the object was made for this class.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: false if an argument is NULL. */
bool rp_is_of(const void *object, const rp_class *type);

/* Returns the name of the object's class; "rp::Object" for an object that C++'s `new` has made if the
 * program was compiled without RTTI.
 * Ownership: the caller owns the result. Give it up by rp_text_free.
 * Threads: any thread. Errors: NULL if `object` is NULL. */
char *rp_type_name(const void *object);

/* Frees a text.
 * Ownership: takes the argument. `text` may be NULL.
 * Threads: any thread. Errors: none. */
void rp_text_free(char *text);

/* ---- Weak references ----------------------------------------------------------------------------- */

typedef struct rp_weak rp_weak;

/* Makes a weak reference, which does not keep the object alive.
 * Ownership: the caller owns the result. Give it up by rp_weak_release.
 * Threads: any thread. Errors: NULL if `object` is NULL. */
rp_weak *rp_weak_new(void *object);

/* Adds a weak reference to the same object.
 * Ownership: the caller owns the result. Give it up by rp_weak_release.
 * Threads: any thread. Errors: NULL if `weak` is NULL. */
rp_weak *rp_weak_retain(rp_weak *weak);

/* Gives up a weak reference.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL, RP_INVALID. */
rp_status rp_weak_release(rp_weak *weak);

/* Returns a new reference to the object, or NULL if it is dead.
 * Ownership: the caller owns the result. Give it up by rp_release or rp_autorelease.
 * Threads: any thread. Errors: NULL if `weak` is NULL. */
void *rp_weak_load(rp_weak *weak);

/* ---- Pools, by token ----------------------------------------------------------------------------- */

typedef struct rp_pool_token {
    uint64_t words[3];
} rp_pool_token;

/* Opens a pool, which becomes the calling thread's current pool. If it is not popped, the end of the scope
 * around it pops it: a callback, a frame, or an outer token. Once the library has left the thread, only
 * rp_pool_pop pops it.
 * Ownership: the caller owns the result. Give it up by rp_pool_pop, once.
 * Threads: any thread. Errors: a token that rp_pool_pop refuses. */
rp_pool_token rp_pool_push(void);

/* Opens a pool like rp_pool_push, with a name for reports, which is copied; `name` may be NULL.
 * Ownership: the caller owns the result. Give it up by rp_pool_pop, once.
 * Threads: any thread. Errors: as rp_pool_push. */
rp_pool_token rp_pool_push_named(const char *name);

/* Closes a pool and the pools by token inside it, and releases their entries, newest first. Writes
 * the number of entries to `released`, which may be NULL.
 * Ownership: takes the argument unless it fails.
 * Threads: the thread that pushed. Errors: RP_STALE, RP_WRONG_THREAD, RP_WRONG_MANAGER, RP_DRAINING:
 * nothing was done. RP_PANIC: the pool is closed. */
rp_status rp_pool_pop(rp_pool_token token, size_t *released);

/* Begins a callback on a thread that a foreign host owns, such as that of an SDK: opens a pool.
 * Ownership: the caller owns the result. Give it up by rp_callback_end, once.
 * Threads: any thread. Errors: as rp_pool_push. */
rp_pool_token rp_callback_begin(void);

/* Ends a callback: closes its pool. If no pool is open any more, drains the thread's root pool and
 * backlog, and makes the releases that other threads have sent.
 * Ownership: takes the argument unless it fails.
 * Threads: the thread that began. Errors: as rp_pool_pop. */
rp_status rp_callback_end(rp_pool_token token);

/* Moves a reference to an object that another runtime counts (GObject, CoreFoundation, Python), or anything
 * else that a function gives up, into the calling thread's current pool: `release(object)` is called when the
 * pool is drained, in turn with the pool's other entries. The call must be allowed on this thread
 * even later: a drain with a budget may leave it to a later drain, or to the thread's end.
 * Ownership: takes the argument unless it fails.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_autorelease_foreign(void *object, void (*release)(void *object));

/* ---- Pools, in place ----------------------------------------------------------------------------- */

/* A pool in memory of the program, such as a variable on the stack. Do not copy it. It may be closed before
 * or after pools that were opened inside it. At the latest the scope around it closes it: a token of
 * rp_pool_push that is popped, a callback or a frame that ends. So a longjmp over a pool leaves it open no
 * longer than that. */
typedef struct rp_pool {
    uint64_t words[3];
} rp_pool;

typedef struct rp_drained {
    size_t released;
    size_t remaining; /* in the thread's backlog */
    uint64_t nanoseconds;
} rp_drained;

/* Called with a text, which is valid during the call. */
typedef void (*rp_text_fn)(const char *text, void *data);

/* Opens a pool in `*pool`, which becomes the calling thread's current pool; `name` may be NULL.
 * Ownership: the caller owns the result. Give it up by rp_pool_close, on the same thread.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_pool_open(rp_pool *pool, const char *name);

/* Drains a pool and closes it. Destructors that the drain calls find the pool closed.
 * Ownership: takes the argument unless it fails.
 * Threads: the thread that opened it. Errors: RP_NULL, RP_STALE, RP_WRONG_THREAD; RP_DRAINING if the pool
 * is being drained further up the call stack. */
rp_status rp_pool_close(rp_pool *pool);

/* Moves a reference into this pool, current or not. An object added n times is released n times.
 * Ownership: takes the argument unless it fails.
 * Threads: the thread that opened the pool. Errors: RP_NULL, RP_STALE, RP_WRONG_THREAD, RP_INVALID. */
rp_status rp_pool_add(rp_pool *pool, void *object);

/* Releases all entries, newest first, and those that destructors add meanwhile; writes their number to
 * `released`, which may be NULL. An outermost drain also makes the releases that other threads have sent.
 * Ownership: borrows the arguments.
 * Threads: the thread that opened the pool. Errors: RP_NULL, RP_STALE, RP_WRONG_THREAD, RP_PANIC;
 * RP_DRAINING in a destructor that a drain of this pool has called: that drain goes on. */
rp_status rp_pool_drain(rp_pool *pool, size_t *released);

/* Releases at most `count` entries or, if that is 0, as many as `nanoseconds` allow (0: all). The rest
 * goes to the thread's backlog. `drained` may be NULL.
 * Ownership: borrows the arguments.
 * Threads: the thread that opened the pool. Errors: as rp_pool_drain. */
rp_status rp_pool_drain_within(rp_pool *pool, size_t count, uint64_t nanoseconds, rp_drained *drained);

/* Returns the number of entries.
 * Ownership: borrows the arguments.
 * Threads: the thread that opened the pool. Errors: 0. */
size_t rp_pool_len(rp_pool *pool);

/* Returns whether the pool has an entry for the object. Linear.
 * Ownership: borrows the arguments.
 * Threads: the thread that opened the pool. Errors: false. */
bool rp_pool_contains(rp_pool *pool, const void *object);

/* Returns whether what the calling thread autoreleases now goes to this pool.
 * Ownership: borrows the arguments.
 * Threads: the thread that opened the pool. Errors: false. */
bool rp_pool_is_current(rp_pool *pool);

/* Returns whether a pool of the calling thread has an entry for the object. Linear.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: false. */
bool rp_is_in_pools(const void *object);

/* Returns whether no pool of the calling thread is open, nor being drained: what it autoreleases now goes to its
 * root pool, and is reported.
 * Ownership: none.
 * Threads: any thread. Errors: false while the thread ends. */
bool rp_is_without_pool(void);

/* Calls `to` with a list of the pool's entries.
 * Ownership: borrows the arguments.
 * Threads: the thread that opened the pool. Errors: RP_NULL, RP_STALE, RP_WRONG_THREAD. */
rp_status rp_pool_dump(rp_pool *pool, rp_text_fn to, void *data);

/* ---- Managers ------------------------------------------------------------------------------------ */

/* A stack of pools on each thread. NULL stands for the global manager, which all functions above use. */
typedef struct rp_manager rp_manager;

/* Makes a manager, for a library that must not mix its pools with its host's; `name` may be NULL.
 * Ownership: the caller owns the result. Give it up by rp_manager_free.
 * Threads: any thread. Errors: NULL. */
rp_manager *rp_manager_new(const char *name);

/* Gives a manager up. Its open pools stay valid.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_manager_free(rp_manager *manager);

/* Opens a pool of this manager on the calling thread; `name` may be NULL.
 * Ownership: the caller owns the result. Give it up by rp_manager_pop, once.
 * Threads: any thread. Errors: as rp_pool_push. */
rp_pool_token rp_manager_push(const rp_manager *manager, const char *name);

/* Closes a pool of this manager, as rp_pool_pop does; `released` may be NULL.
 * Ownership: takes the argument unless it fails.
 * Threads: the thread that pushed. Errors: as rp_pool_pop. */
rp_status rp_manager_pop(const rp_manager *manager, rp_pool_token token, size_t *released);

/* Moves a reference into this manager's current pool on the calling thread.
 * Ownership: takes the argument unless it fails.
 * Threads: any thread. Errors: RP_NULL, RP_INVALID. */
rp_status rp_manager_autorelease(const rp_manager *manager, void *object);

/* Drains the calling thread's root pool; `released` may be NULL.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_PANIC. */
rp_status rp_drain_root(const rp_manager *manager, size_t *released);

/* Makes releases of the backlog, within a budget as in rp_pool_drain_within; `drained` may be NULL.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_PANIC. */
rp_status rp_drain_backlog(const rp_manager *manager, size_t count, uint64_t nanoseconds,
                           rp_drained *drained);

/* Sets the number of entries of a root pool at which an event is reported and, if `drains`, at which
 * rp_boundary drains the root pool.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: none. */
rp_status rp_manager_set_root_watermark(const rp_manager *manager, size_t entries, bool drains);

/* Drains the calling thread's root pool if rp_manager_set_root_watermark has asked for that and the pool has
 * reached its watermark. Does nothing inside a pool or destructor, and leaves the backlog alone. `released`
 * may be NULL.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_PANIC. */
rp_status rp_boundary(const rp_manager *manager, size_t *released);

/* Makes the releases that belong to no thread in particular, such as those sent to threads that have ended,
 * and waits, at most for this time, for other threads that are making such releases.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_TIMED_OUT. */
rp_status rp_quiesce(const rp_manager *manager, uint64_t nanoseconds);

/* Makes all threads release what they hold, and waits for that, at most for this time.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_TIMED_OUT, with a message that says which thread holds what. */
rp_status rp_shutdown(const rp_manager *manager, uint64_t nanoseconds);

/* ---- Threads ------------------------------------------------------------------------------------- */

typedef struct rp_thread rp_thread;

/* Returns a handle of the calling thread.
 * Ownership: the caller owns the result. Give it up by rp_thread_free.
 * Threads: any thread. Errors: NULL while the thread ends. */
rp_thread *rp_thread_current(void);

/* Returns a handle of the thread with this key.
 * Ownership: the caller owns the result. Give it up by rp_thread_free.
 * Threads: any thread. Errors: NULL if no thread has the key any more. */
rp_thread *rp_thread_find(uint64_t key);

/* Returns another handle of the thread.
 * Ownership: the caller owns the result. Give it up by rp_thread_free.
 * Threads: any thread. Errors: NULL if `thread` is NULL. */
rp_thread *rp_thread_clone(const rp_thread *thread);

/* Gives a handle up.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_thread_free(rp_thread *thread);

/* Returns the thread's key, which no other thread ever has.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: 0 if `thread` is NULL. */
uint64_t rp_thread_key(const rp_thread *thread);

/* Returns whether the thread still takes messages.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: false if `thread` is NULL. */
bool rp_thread_is_alive(const rp_thread *thread);

/* Makes the thread release a reference, in its next outermost drain; once it has ended, any thread does.
 * Ownership: takes the argument unless it fails.
 * Threads: any thread. Errors: RP_NULL, RP_INVALID. */
rp_status rp_thread_release(const rp_thread *thread, void *object);

/* Makes the thread call `f(data)` in rp_run_inbox or in its frame loop. If the thread ends first,
 * rp_quiesce or rp_shutdown calls `f(data)`, on any thread.
 * Ownership: takes the argument unless it fails. The argument is `data`, if that owns anything.
 * Threads: any thread. Errors: RP_NULL; RP_CLOSED once the thread has ended, and `f` is never called. */
rp_status rp_thread_post(const rp_thread *thread, void (*f)(void *data), void *data);

/* Runs what was posted to the calling thread, and makes the releases that were sent to it. Does nothing
 * inside a destructor. `ran` may be NULL.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_PANIC. */
rp_status rp_run_inbox(size_t *ran);

typedef struct rp_inbox_hook rp_inbox_hook;

/* Sets a function that other threads call when they send a message to the calling thread. It should
 * wake the thread's event loop, which then calls rp_run_inbox.
 * Ownership: the caller owns the result. Give it up by rp_inbox_hook_clear, on the same thread.
 * Threads: any thread. Errors: NULL if `f` is NULL, or while the thread ends. */
rp_inbox_hook *rp_inbox_hook_set(void (*f)(void *data), void *data);

/* Removes the function. It may still be running on other threads.
 * Ownership: takes the argument unless it fails.
 * Threads: the thread that set it. Errors: RP_NULL, RP_WRONG_THREAD. */
rp_status rp_inbox_hook_clear(rp_inbox_hook *hook);

/* ---- Handoff ------------------------------------------------------------------------------------- */

/* A pool that another thread releases. Used by one thread at a time. */
typedef struct rp_handoff rp_handoff;

/* Makes a pool for handoff.
 * Ownership: the caller owns the result. Give it up by rp_handoff_free.
 * Threads: any thread. Errors: NULL. */
rp_handoff *rp_handoff_new(void);

/* Releases all entries on the calling thread, and gives the pool up.
 * Ownership: takes the argument.
 * Threads: one at a time. Errors: RP_NULL. */
rp_status rp_handoff_free(rp_handoff *handoff);

/* Moves a reference into the pool. The object's destructor must be allowed to run on another thread.
 * Ownership: takes the argument unless it fails.
 * Threads: one at a time. Errors: RP_NULL, RP_INVALID. */
rp_status rp_handoff_add(rp_handoff *handoff, void *object);

/* Returns the number of entries.
 * Ownership: borrows the arguments.
 * Threads: one at a time. Errors: 0. */
size_t rp_handoff_len(rp_handoff *handoff);

/* Sends all entries to a thread in one message, for its next outermost drain; `sent` may be NULL.
 * Ownership: borrows the arguments.
 * Threads: one at a time. Errors: RP_NULL. */
rp_status rp_handoff_drain_on(rp_handoff *handoff, const rp_thread *thread, size_t *sent);

/* Releases all entries on the calling thread; `released` may be NULL.
 * Ownership: borrows the arguments.
 * Threads: one at a time. Errors: RP_NULL, RP_PANIC. */
rp_status rp_handoff_drain(rp_handoff *handoff, size_t *released);

/* ---- Destruction at home ------------------------------------------------------------------------- */

/* A counted reference that any thread may hold, to an object that only its home may use and destroy. */
typedef struct rp_home rp_home;

/* Binds a reference to the calling thread, its home. If the home ends first, the object is kept for
 * ever, and an event reports that.
 * Ownership: the caller owns the result. Give it up by rp_home_release. Takes the argument.
 * Threads: any thread. Errors: NULL if `object` is NULL. */
rp_home *rp_home_new(void *object);

/* Adds a reference.
 * Ownership: the caller owns the result. Give it up by rp_home_release.
 * Threads: any thread. Errors: NULL if `home` is NULL. */
rp_home *rp_home_retain(rp_home *home);

/* Gives up a reference. The last one releases the object: at once on its home, elsewhere in the home's next
 * outermost drain.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_home_release(rp_home *home);

/* Returns the object at home, and NULL elsewhere.
 * Ownership: the result is lent. As long as `home` is owned.
 * Threads: any thread. Errors: NULL if `home` is NULL. */
void *rp_home_get(rp_home *home);

/* Returns the key of the home, which may have ended.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: 0 if `home` is NULL. */
uint64_t rp_home_key(rp_home *home);

/* ---- Slots --------------------------------------------------------------------------------------- */

/* A place for one object, or none, that all threads may read and write. */
typedef struct rp_slot rp_slot;

/* Makes a slot that holds `object`, which may be NULL.
 * Ownership: the caller owns the result. Give it up by rp_slot_free. Takes the argument.
 * Threads: any thread. Errors: NULL. */
rp_slot *rp_slot_new(void *object);

/* Gives a slot up; no other call may use it any more.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_slot_free(rp_slot *slot);

/* Returns a new reference to the slot's object; NULL if the slot is empty.
 * Ownership: the caller owns the result. Give it up by rp_release or rp_autorelease.
 * Threads: any thread. Errors: NULL if `slot` is NULL. */
void *rp_slot_load(const rp_slot *slot);

/* Returns the slot's object without counting a reference; NULL if the slot is empty.
 * Ownership: the result is lent. Until `pool` is drained.
 * Threads: the thread that opened the pool. Errors: NULL. */
void *rp_slot_load_in(const rp_slot *slot, rp_pool *pool);

/* Puts `object`, which may be NULL, into the slot. The slot's reference to the old object is
 * given up once all pools to which the slot may have lent the old object have been drained.
 * Ownership: takes the argument unless it fails.
 * Threads: any thread. Errors: RP_NULL if `slot` is NULL. */
rp_status rp_slot_store(const rp_slot *slot, void *object);

/* Puts `object`, which may be NULL, into the slot, and returns a new reference to the old one or NULL.
 * Ownership: the caller owns the result. Give it up by rp_release or rp_autorelease. Takes the argument.
 * Threads: any thread. Errors: NULL if `slot` is NULL; the argument is still the caller's then. */
void *rp_slot_swap(const rp_slot *slot, void *object);

/* Puts `object`, which may be NULL, into the slot if the slot holds `expected`, which may be NULL; writes
 * whether it did to `exchanged`, which may be NULL. If it did not, `object` is still the caller's.
 * Ownership: takes the argument unless it fails.
 * Threads: any thread. Errors: RP_NULL if `slot` is NULL. */
rp_status rp_slot_compare_exchange(const rp_slot *slot, const void *expected, void *object,
                                   bool *exchanged);

/* ---- Frame loops --------------------------------------------------------------------------------- */

typedef struct rp_frame_loop rp_frame_loop;
typedef struct rp_frame_proxy rp_frame_proxy;
typedef struct rp_post rp_post;

typedef struct rp_frame_config {
    uint64_t frame_nanoseconds;     /* the time that a frame has; 0 stands for no limit */
    uint64_t min_drain_nanoseconds; /* the least time of the frame's drain; 0: the default */
} rp_frame_config;

typedef struct rp_frame_report {
    uint64_t index;
    size_t closures;
    uint64_t busy_nanoseconds;
    rp_drained drained;
} rp_frame_report;

/* Makes a loop for the calling thread, which must have no other; `config` may be NULL.
 * Ownership: the caller owns the result. Give it up by rp_frame_loop_free.
 * Threads: any thread. Errors: NULL while the thread ends. */
rp_frame_loop *rp_frame_loop_new(const rp_frame_config *config);

/* Ends a loop: runs what is due, and drains.
 * Ownership: takes the argument unless it fails.
 * Threads: the loop's thread. Errors: RP_NULL, RP_WRONG_THREAD, RP_DRAINING in a tick. */
rp_status rp_frame_loop_free(rp_frame_loop *loop);

/* Makes one frame, without waiting: runs what was posted, calls `f(data)` with a pool as the current one,
 * and drains within the frame's time. `f` and `report` may be NULL.
 * Ownership: borrows the arguments.
 * Threads: the loop's thread. Errors: RP_NULL, RP_WRONG_THREAD, RP_DRAINING in a tick, RP_PANIC. */
rp_status rp_frame_loop_tick(rp_frame_loop *loop, void (*f)(void *data), void *data,
                             rp_frame_report *report);

/* Sets the function that tells the host, on any thread, that the loop has something to do. `f` may be
 * NULL, which removes it.
 * Ownership: borrows the arguments.
 * Threads: the loop's thread. Errors: RP_NULL, RP_WRONG_THREAD, RP_DRAINING in a tick. */
rp_status rp_frame_loop_set_wake_hook(rp_frame_loop *loop, void (*f)(void *data), void *data);

/* Returns a handle by which other threads use the loop. The handle may outlive the loop.
 * Ownership: the caller owns the result. Give it up by rp_frame_proxy_free.
 * Threads: the loop's thread. Errors: NULL. */
rp_frame_proxy *rp_frame_proxy_new(rp_frame_loop *loop);

/* Gives a handle up.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_frame_proxy_free(rp_frame_proxy *proxy);

/* Makes the loop call `f(data)` at the beginning of its next frame.
 * Ownership: takes the argument unless it fails. The argument is `data`, if that owns anything.
 * Threads: any thread. Errors: RP_NULL; RP_CLOSED once the loop has ended, and `f` is never called. */
rp_status rp_frame_proxy_post(const rp_frame_proxy *proxy, void (*f)(void *data), void *data);

/* Makes the loop call `f(data)` in the first frame after this time. A post that is not due when the loop
 * ends is dropped, with an event, and `f` is never called.
 * Ownership: the caller owns the result. Give it up by rp_post_free.
 * Threads: any thread. Errors: NULL, as rp_frame_proxy_post. */
rp_post *rp_frame_proxy_post_after(const rp_frame_proxy *proxy, uint64_t nanoseconds,
                                   void (*f)(void *data), void *data);

/* Cancels a post; returns true if it was still waiting: then `f` is never called.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: false. */
bool rp_frame_proxy_cancel(const rp_frame_proxy *proxy, rp_post *post);

/* Frees the handle of a post, which does not cancel the post.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_post_free(rp_post *post);

/* ---- Memory -------------------------------------------------------------------------------------- */

/* Allocates blocks of 16 to 64,768 bytes from the calling thread's heap; larger ones by malloc. */
typedef struct rp_blocks rp_blocks;

typedef struct rp_blocks_figures {
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t chunk_bytes;
} rp_blocks_figures;

/* Makes an allocator that holds at most `hard_cap` bytes; 0 stands for no limit.
 * Ownership: the caller owns the result. Give it up by rp_blocks_free.
 * Threads: any thread. Errors: NULL. */
rp_blocks *rp_blocks_new(size_t hard_cap);

/* Gives an allocator up. Its blocks stay valid, but cannot be freed any more.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_blocks_free(rp_blocks *blocks);

/* Allocates `size` bytes, which are not initialized.
 * Ownership: the caller owns the result. Give it up by rp_blocks_dealloc.
 * Threads: any thread. Errors: NULL at the cap, or if `align` is no power of two or `size` is 0. */
void *rp_blocks_alloc(const rp_blocks *blocks, size_t size, size_t align);

/* Frees memory of this allocator, on any thread, with the size and alignment of its allocation.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: RP_NULL, RP_INVALID. */
rp_status rp_blocks_dealloc(const rp_blocks *blocks, void *memory, size_t size, size_t align);

/* Frees unused memory; writes the number of bytes to `freed`, which may be NULL.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_blocks_trim(const rp_blocks *blocks, size_t *freed);

/* Reads the figures of an allocator to `figures`.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_NULL. */
rp_status rp_blocks_stats(const rp_blocks *blocks, rp_blocks_figures *figures);

/* Memory for one frame or step, which is freed all at once. Used by one thread at a time. */
typedef struct rp_stack rp_stack;

/* Makes a stack allocator of this many bytes. What does not fit comes from the heap.
 * Ownership: the caller owns the result. Give it up by rp_stack_free.
 * Threads: any thread. Errors: NULL if there is no memory. */
rp_stack *rp_stack_new(size_t capacity);

/* Frees a stack allocator with all of its memory.
 * Ownership: takes the argument.
 * Threads: one at a time. Errors: RP_NULL. */
rp_status rp_stack_free(rp_stack *stack);

/* Allocates `size` bytes, aligned to 16, which are not initialized.
 * Ownership: the result is lent. Until rp_stack_reset or rp_stack_free.
 * Threads: one at a time. Errors: NULL if there is no memory. */
void *rp_stack_alloc(rp_stack *stack, size_t size);

/* Frees all that was allocated. If it did not fit, enlarges the allocator for the next time.
 * Ownership: borrows the arguments.
 * Threads: one at a time. Errors: RP_NULL. */
rp_status rp_stack_reset(rp_stack *stack);

/* Returns the most bytes that were in use at once.
 * Ownership: borrows the arguments.
 * Threads: one at a time. Errors: 0. */
size_t rp_stack_high_water(const rp_stack *stack);

/* ---- Reports ------------------------------------------------------------------------------------- */

typedef struct rp_figures {
    size_t threads;
    uint64_t live_objects;
    uint64_t created;
    uint64_t destroyed;
    size_t open_pools;
    size_t root_entries;
    size_t backlog;
    size_t inbox;
    size_t orphans;
} rp_figures;

/* Reads the figures of a manager, and of all threads. Those of the calling thread are exact.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_NULL if `figures` is NULL. */
rp_status rp_snapshot(const rp_manager *manager, rp_figures *figures);

/* Calls `to` with the figures that rp_snapshot reads as a table, one line for each thread.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_NULL if `to` is NULL. */
rp_status rp_snapshot_text(const rp_manager *manager, rp_text_fn to, void *data);

typedef struct rp_leak {
    const char *type_name; /* valid during the call */
    size_t objects;
    size_t bytes;
    size_t pooled; /* how many of them pools hold */
} rp_leak;

/* Calls `to`, which may be NULL, for each group of objects that are alive; writes the number of all
 * these objects to `objects`, which may be NULL.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: RP_UNAVAILABLE in builds without the feature `leak-detection`. */
rp_status rp_leaks(void (*to)(const rp_leak *leak, void *data), void *data, size_t *objects);

/* Sets the function that gets warnings, one line each, instead of standard error. `to` may be
 * NULL, which removes it.
 * Ownership: borrows the arguments.
 * Threads: any thread; `to` may be called on any thread. Errors: none. */
rp_status rp_set_event_hook(rp_text_fn to, void *data);

/* ---- For releasepool.hpp ------------------------------------------------------------------------- */

/* The functions below serve objects of C++ whose base class embeds the header as data. The address of such an
 * object is the address right behind its header. The functions may change in any version: only the
 * releasepool.hpp of the same version uses them. */

typedef struct rp_header_layout {
    uint64_t header_bytes; /* the count word, and a pointer to the class */
    uint64_t one_strong;   /* what one reference adds to the count word */
    uint64_t unique;       /* the count word of a new object */
    uint64_t held;         /* the bit that a release clears before it calls the destructor */
} rp_header_layout;

/* Not 0 if C++ headers must not change counts inline, but call rp_retain and rp_release, so that checks see
 * each reference; 2 in a library with the feature `leak-detection`. */
extern const uint32_t rp_checked;

/* Returns the layout of headers, to be compared with the layout that the program was compiled with.
 * Ownership: none.
 * Threads: any thread. Errors: none. */
rp_header_layout rp_header_layout_get(void);

/* The context of a thread, which leads to the library's thread-locals. A thread that keeps
 * the context's address saves several calls of the dynamic linker for each object. */
typedef struct rp_thread_context rp_thread_context;

/* Returns the context of the calling thread, which is always the same.
 * Ownership: the result is lent. Until the thread ends, or the library is unloaded.
 * Threads: any thread; the result is for the calling thread only. Errors: none. */
const rp_thread_context *rp_thread_context_get(void);

/* Allocates the memory of an object, header included. `here`, which may be NULL, is the context of the calling
 * thread.
 * Ownership: the caller owns the result. Give it up by rp_embedded_free, or make an object of it.
 * Threads: any thread. Errors: NULL. */
void *rp_embedded_alloc(const rp_thread_context *here, const rp_class *type);

/* Frees memory of rp_embedded_alloc in which no object was made. `memory` may be NULL.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: does nothing if `type` is NULL. */
void rp_embedded_free(const rp_class *type, void *memory);

/* Allocates memory for a class's operator new. `here`, which may be NULL, is the context of the calling
 * thread.
 * Ownership: the caller owns the result. Give it up by rp_memory_free.
 * Threads: any thread. Errors: NULL. */
void *rp_memory_alloc(const rp_thread_context *here, size_t size, size_t align);

/* Frees memory of rp_memory_alloc or rp_embedded_alloc, unless weak references keep it.
 * `here` is the context of the calling thread. `here` and `memory` may be NULL.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: none. */
void rp_memory_free(const rp_thread_context *here, void *memory, size_t size, size_t align);

/* Records a new object. To be called if rp_checked is not 0.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: does nothing if an argument is NULL. */
void rp_embedded_note(const rp_class *type, void *object);

/* Records the new class of an object with one reference. To be called if rp_checked is not 0.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: does nothing if an argument is NULL. */
void rp_embedded_note_class(const rp_class *type, void *object);

/* Makes reports name each object of a class with `frees_memory` by the word before its header, the object's
 * pointer to virtual functions: `name` gets that pointer and writes at most `size` bytes to `to`, a zero at
 * the end included, or nothing. `name` must not call the library.
 * Ownership: borrows the arguments.
 * Threads: any thread; `name` may be called on any thread. Errors: RP_NULL, RP_INVALID. */
rp_status rp_embedded_name_by(const rp_class *type,
                              void (*name)(const void *table, char *to, size_t size));

/* Makes an object of a class without `destroy`, with its header, and moves it into the current
 * pool. The caller writes the payload before it does anything else. `here`, which may be NULL, is
 * the context of the calling thread.
 * Ownership: the result is lent. Until the current pool is drained.
 * Threads: any thread. Errors: NULL. */
void *rp_embedded_create(const rp_thread_context *here, const rp_class *type);

/* Moves a reference into the current pool. `here`, which may be NULL, is the context of the calling
 * thread.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: does nothing if `object` is NULL. */
void rp_embedded_autorelease(const rp_thread_context *here, void *object);

/* Ends the value of an object, in the base class's destructor. If `is_held`, no release has called
 * the destructor; otherwise one has, and the destructor has made references. Aborts if references
 * are left and the memory is neither the library's nor static.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: aborts; does nothing if `object` is NULL. */
void rp_embedded_end(void *object, bool is_held);

/* Completes a release that has found no other reference in the count word.
 * Ownership: takes the argument.
 * Threads: any thread. Errors: does nothing if `object` is NULL. */
void rp_last_release(void *object);

/* Aborts, as the count word has no room for a reference.
 * Ownership: borrows the arguments.
 * Threads: any thread. Errors: aborts, for NULL, too. */
void rp_abort_retain(void *object);

#ifdef __cplusplus
}
#endif

#endif
