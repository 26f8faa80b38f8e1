// releasepool for C++17 and later: counted objects, weak references, pools, slots and threads.
//
//     struct Sprite : rp::Object {
//         explicit Sprite(int id) : id(id) {}
//         int id;
//         rp::Ref<Sprite> next;
//     };
//
//     rp::AutoreleasePool pool;
//     Sprite* temporary = rp::create<Sprite>(1);      // lives until the pool is drained
//     rp::Ref<Sprite> kept = rp::make<Sprite>(2);     // lives as long as there is a reference
//
// An rp::Object embeds the header that every object of the library has, so one object goes through the
// pools, slots and threads of C++, C and Rust alike. All counts are atomic, in two instructions that the
// compiler inlines; the header is checked against the library when the program is loaded.
//
// Any order of base classes works, and so do objects on the stack, as members and in arrays, and `delete`
// by hand. rp::make and rp::create are the fastest ways to make an object. Reports name the class of an object
// that was made in another way if the program has RTTI, and else call the object rp::Object. A class with an
// operator new of its own uses that.
//
// If an object ends by hand while references to it are left, its memory must stay until they are
// gone; for ever, with a message, if they are strong. It stays if it is static, or part of a block
// from rp::make, rp::create or the operator new of rp::Object. In any other memory (the stack, a
// std::vector), the process aborts, and a message names the class and the address.
//
// rp::make and rp::create take any other class, too, such as a struct of plain values. Its objects have
// their header before them, and they are the cheapest if the class is trivially copyable: one call makes
// such an object, and a pool frees them in bulk.
//
// The header needs no exceptions and no RTTI (but dynamic_pointer_cast and virtual bases need RTTI). The
// destructor of an rp::Object cannot throw; an exception of another class's destructor is reported, and goes
// no further.
#ifndef RELEASEPOOL_HPP
#define RELEASEPOOL_HPP

#include "releasepool.h"

#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "releasepool.hpp needs C++17 or later"
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#ifndef _WIN64
#error "releasepool.hpp needs a 64-bit target with MSVC, which has no intrinsics for its count word on others"
#endif
#include <intrin.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define RP_EXCEPTIONS 1
#else
#define RP_EXCEPTIONS 0
#endif

// 1 if reports name the classes of objects that `new` has made: with RTTI, where the tables of virtual
// functions are as in the Itanium C++ ABI.
#if (defined(__GXX_RTTI) || defined(__cpp_rtti)) && defined(__GXX_ABI_VERSION) && !defined(_MSC_VER)
#define RP_TABLE_NAMES 1
#include <cxxabi.h>
#include <typeinfo>
#else
#define RP_TABLE_NAMES 0
#endif

// True if counts go through the library, so that its checks see them. A program that defines
// RP_CHECKED as 0 saves a load and a test, and is not checked. It aborts at its start if the
// library has the feature `leak-detection`.
#ifndef RP_CHECKED
#define RP_CHECKED (rp_checked != 0)
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define RP_UNLIKELY(condition) (!!(condition))
#define RP_RARE __declspec(noinline)
#define RP_INLINE __forceinline
#define RP_FUNCTION __FUNCSIG__
#else
#define RP_UNLIKELY(condition) (__builtin_expect(!!(condition), 0))
#define RP_RARE __attribute__((cold, noinline))
#define RP_INLINE inline __attribute__((always_inline))
#define RP_FUNCTION __PRETTY_FUNCTION__
#endif

namespace rp {

// Not named Object: in a derived class, that name would hide the program's own class Object.
class CountedObject;
using Object = CountedObject;
class Thread;
template <class T> class Ref;
template <class T> class Weak;
template <class T> Ref<T> adopt(T* object) noexcept;

namespace detail {

inline constexpr std::uint64_t one_strong = std::uint64_t{1} << 32;
inline constexpr std::uint64_t unique = 1;
inline constexpr std::uint64_t held = 1;

// The count word, which Rust shares: a plain word here, as a std::atomic<std::uint64_t> may have
// another layout. Aligned to its size, as its atomic instructions need on 32-bit targets, too.
#if defined(_MSC_VER) && !defined(__clang__)
typedef std::uint64_t Count;
#else
typedef std::uint64_t Count __attribute__((aligned(8)));
#endif

// Operations on the count word, with the orderings in their names. MSVC's additions are SeqCst.
inline std::uint64_t load_relaxed(const Count* word) noexcept {
#if defined(_MSC_VER) && !defined(__clang__)
    return static_cast<std::uint64_t>(__iso_volatile_load64(reinterpret_cast<const volatile __int64*>(word)));
#else
    return __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
}
inline std::uint64_t add_relaxed(Count* word, std::uint64_t n) noexcept {
#if defined(_MSC_VER) && !defined(__clang__)
    return static_cast<std::uint64_t>(
        _InterlockedExchangeAdd64(reinterpret_cast<volatile __int64*>(word), static_cast<__int64>(n)));
#else
    return __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
#endif
}
inline std::uint64_t subtract_release(Count* word, std::uint64_t n) noexcept {
#if defined(_MSC_VER) && !defined(__clang__)
    return add_relaxed(word, ~n + 1);
#else
    return __atomic_fetch_sub(word, n, __ATOMIC_RELEASE);
#endif
}

[[noreturn]] inline void fail(const char* what) noexcept {
    std::fprintf(stderr, "releasepool: %s; aborting\n", what);
    std::abort();
}

// Fails with the library's message, unless the status is RP_OK or one of `others`.
template <class... Statuses> void check(rp_status status, Statuses... others) noexcept {
    if (RP_UNLIKELY(status != RP_OK && ((status != others) && ...))) {
        fail(rp_last_error());
    }
}
// Returns what the library has made; fails with its message if that is null.
template <class T> T* made(T* by_library) noexcept {
    check(by_library != nullptr ? RP_OK : RP_NULL);
    return by_library;
}

[[noreturn]] RP_RARE inline void fail_without_memory() {
#if RP_EXCEPTIONS
    throw std::bad_alloc();
#else
    fail("there is no memory for an object");
#endif
}

// Compares the header with that of the library which was loaded.
inline bool check_layout() noexcept {
    const rp_header_layout layout = rp_header_layout_get();
    if (layout.header_bytes != 16 || layout.one_strong != one_strong || layout.unique != unique
        || layout.held != held) {
        fail("releasepool.hpp is not the header of the library that was loaded");
    }
    if (rp_checked == 2 && !RP_CHECKED) {
        fail("the program was compiled with RP_CHECKED=0, which a library with leak-detection does not allow");
    }
    return true;
}

inline const bool layout_is_ours = check_layout();

// Caches the thread's context for calls that are made for each object: a thread-local of the
// program itself is read by one instruction.
struct Context {
    static inline thread_local const rp_thread_context* own = nullptr;

    RP_RARE static const rp_thread_context* find() noexcept {
        own = rp_thread_context_get();
        return own;
    }
};
RP_INLINE const rp_thread_context* context() noexcept {
    const rp_thread_context* const known = Context::own;
    return RP_UNLIKELY(known == nullptr) ? Context::find() : known;
}

// Returns a text in which the compiler names T.
template <class T> const char* text_with_name() noexcept { return RP_FUNCTION; }

// Copies the name of T out of text_with_name.
template <class T> void copy_name(char* to, std::size_t size) noexcept {
    const char* text = text_with_name<T>();
    // The text is "... [T = Name]" or, with MSVC, "... text_with_name<struct Name>(...)".
    const char* begin = std::strstr(text, "T = ");
    const char* const of_msvc = std::strstr(text, "text_with_name<");
    begin = begin ? begin + 4 : of_msvc ? of_msvc + 15 : text;
    const char* end = begin;
    for (int depth = 0; *end != '\0'; ++end) {
        if (*end == '<' || *end == '(') {
            ++depth;
        } else if (*end == '>' || *end == ')') {
            if (depth == 0) {
                break;
            }
            --depth;
        } else if (depth == 0 && (*end == ';' || *end == ']')) {
            break;
        }
    }
    const auto length = static_cast<std::size_t>(end - begin);
    const std::size_t copied = length < size - 1 ? length : size - 1;
    std::memcpy(to, begin, copied);
    to[copied] = '\0';
}

struct Access;

} // namespace detail

// The base of counted objects. An object begins with one reference, which rp::make, rp::adopt or
// rp::autorelease take over. Its private names begin with rp, as they would hide names of the program in
// derived classes.
class CountedObject {
public:
    // Returns the number of references. Other threads may change it at any time.
    std::size_t strong_count() const noexcept {
        // The upper half of the word is the number less 1; it is -1 for an object that is ending.
        const std::uint64_t word = detail::load_relaxed(&rp_count_);
        return static_cast<std::uint32_t>((word >> 32) + 1);
    }

    // The operators take the memory from the calling thread's heap, without a lock.
    static void* operator new(std::size_t size) { return rp_allocate(size, rp_default_align); }
    static void* operator new(std::size_t size, std::align_val_t align) {
        return rp_allocate(size, static_cast<std::size_t>(align));
    }
    static void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
        return rp_allocate_or_null(size, rp_default_align);
    }
    static void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
        return rp_allocate_or_null(size, static_cast<std::size_t>(align));
    }
    static void* operator new(std::size_t, void* place) noexcept { return place; }
    static void* operator new[](std::size_t size) { return rp_allocate(size, rp_default_align); }
    static void* operator new[](std::size_t size, std::align_val_t align) {
        return rp_allocate(size, static_cast<std::size_t>(align));
    }
    static void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
        return rp_allocate_or_null(size, rp_default_align);
    }
    static void* operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
        return rp_allocate_or_null(size, static_cast<std::size_t>(align));
    }
    static void* operator new[](std::size_t, void* place) noexcept { return place; }

    static void operator delete(void* memory, std::size_t size) noexcept {
        rp_memory_free(detail::context(), memory, size, rp_default_align);
    }
    static void operator delete(void* memory, std::size_t size, std::align_val_t align) noexcept {
        rp_memory_free(detail::context(), memory, size, static_cast<std::size_t>(align));
    }
    static void operator delete(void*, void*) noexcept {}
    static void operator delete[](void* memory, std::size_t size) noexcept {
        rp_memory_free(detail::context(), memory, size, rp_default_align);
    }
    static void operator delete[](void* memory, std::size_t size, std::align_val_t align) noexcept {
        rp_memory_free(detail::context(), memory, size, static_cast<std::size_t>(align));
    }
    static void operator delete[](void*, void*) noexcept {}
    // Called if a constructor under new(std::nothrow) throws, but without the size of the memory.
    static void operator delete(void* memory, const std::nothrow_t&) noexcept { rp_free_newest(memory); }
    static void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
        rp_free_newest(memory);
    }
    static void operator delete[](void* memory, const std::nothrow_t&) noexcept { rp_free_newest(memory); }
    static void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
        rp_free_newest(memory);
    }

protected:
    CountedObject() noexcept;
    // A copy is a new object, with a count of its own.
    CountedObject(const CountedObject&) noexcept : CountedObject() {}
    CountedObject& operator=(const CountedObject&) noexcept { return *this; }
    virtual ~CountedObject() {
        // If a release called this destructor, the release has cleared `held`, and the word is
        // negative unless the destructor has made references.
        constexpr std::uint64_t negative = std::uint64_t{1} << 63;
        const std::uint64_t word = detail::load_relaxed(&rp_count_);
        if (RP_UNLIKELY((word & (negative | detail::held)) != negative)) {
            rp_embedded_end(rp_payload(), (word & detail::held) != 0);
        }
    }

private:
    friend struct detail::Access;

    static constexpr std::size_t rp_default_align = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

    static void* rp_allocate(std::size_t size, std::size_t align) {
        void* memory = rp_memory_alloc(detail::context(), size, align);
        if (RP_UNLIKELY(memory == nullptr)) {
            detail::fail_without_memory();
        }
        return memory;
    }

    // The last allocations of new(std::nothrow) on a thread: rp_free_newest finds their sizes here.
    struct RpNewest {
        static constexpr unsigned length = 16;
        struct Memory {
            void* memory;
            std::size_t size;
            std::size_t align;
        };
        Memory all[length];
        unsigned next;
    };
    static RpNewest& rp_newest() noexcept {
        static thread_local RpNewest own;
        return own;
    }

    static void* rp_allocate_or_null(std::size_t size, std::size_t align) noexcept {
        void* const memory = rp_memory_alloc(detail::context(), size, align);
#if RP_EXCEPTIONS
        RpNewest& own = rp_newest();
        own.all[own.next++ % RpNewest::length] = {memory, size, align};
#endif
        return memory;
    }

    // Frees memory of rp_allocate_or_null. If the constructor has made more than 15 other such allocations, the
    // size is not known any more, and the memory leaks.
    static void rp_free_newest(void* memory) noexcept {
        RpNewest& own = rp_newest();
        for (unsigned back = 1; back <= RpNewest::length; ++back) {
            RpNewest::Memory& found = own.all[(own.next - back) % RpNewest::length];
            if (found.memory == memory) {
                found.memory = nullptr;
                rp_memory_free(detail::context(), memory, found.size, found.align);
                return;
            }
        }
    }

    void* rp_payload() const noexcept {
        return const_cast<char*>(reinterpret_cast<const char*>(this)) + sizeof(Object);
    }

    mutable detail::Count rp_count_;
    const rp_class* rp_class_;
#if UINTPTR_MAX == 0xffffffff
    // Fills the header to 16 bytes. A derived class could put its fields into mere padding.
    [[maybe_unused]] std::uint32_t rp_gap_;
#endif
};

static_assert(sizeof(Object) == 24 && alignof(Object) == 8,
              "an Object has a pointer to its virtual functions, a count word and a class");

namespace detail {

// Calls `end`, the destructor of a T. If it throws, reports that, and goes on.
template <class T, class F> void contain(F end) noexcept {
#if RP_EXCEPTIONS
    if constexpr (!std::is_nothrow_destructible_v<T>) {
        try {
            end();
        } catch (...) {
            char name[200];
            copy_name<T>(name, sizeof(name));
            std::fprintf(stderr, "releasepool: the destructor of %s has thrown an exception, which goes no "
                                 "further\n", name);
        }
        return;
    }
#endif
    end();
}

// True if T derives from Object, but not virtually: then the Object is at a known offset in T.
template <class T, class = void> struct HasFixedBase : std::false_type {};
template <class T>
struct HasFixedBase<T, std::void_t<decltype(static_cast<T*>(std::declval<Object*>()))>> : std::true_type {};

template <class T> inline constexpr bool is_object = std::is_base_of_v<Object, std::remove_cv_t<T>>;

// True if a Ref<U> converts to a Ref<T>: T is U, or a base of U that derives from Object, as only
// such bases tell where the payload is.
template <class U, class T>
using Converts = std::conjunction<
    std::is_convertible<U*, T*>,
    std::disjunction<std::is_same<std::remove_cv_t<U>, std::remove_cv_t<T>>,
                     std::is_base_of<Object, std::remove_cv_t<T>>>>;

// The header before every payload.
struct Header {
    Count count;
    const rp_class* type;
};
static_assert(sizeof(Header) == 16, "a header is a count word and a pointer");

struct Access {
    static Header* header(void* payload) noexcept {
        return reinterpret_cast<Header*>(static_cast<char*>(payload) - sizeof(Header));
    }
    static Object* object(void* payload) noexcept {
        return reinterpret_cast<Object*>(static_cast<char*>(payload) - sizeof(Object));
    }

    // Returns the payload of `object`, which must not be null.
    template <class T> static void* payload(T* object) noexcept {
        if constexpr (is_object<T>) {
            return static_cast<const Object*>(object)->rp_payload();
        } else {
            return const_cast<std::remove_cv_t<T>*>(object);
        }
    }
    template <class T> static void* payload_or_null(T* object) noexcept {
        return object == nullptr ? nullptr : payload(object);
    }

    // Returns the object of `payload`, which must not be null.
    template <class T> static T* from_payload(void* payload) noexcept {
        if constexpr (!is_object<T>) {
            return static_cast<T*>(payload);
        } else if constexpr (HasFixedBase<T>::value) {
            return static_cast<T*>(object(payload));
        } else {
            return dynamic_cast<T*>(object(payload));
        }
    }

    // Counts a reference.
    static void retain(void* payload) noexcept {
        if (RP_UNLIKELY(RP_CHECKED)) {
            rp_retain(payload);
            return;
        }
        // Relaxed: the caller has a reference, and passes the new one on by means that synchronize.
        const std::uint64_t old = add_relaxed(&header(payload)->count, one_strong);
        if (RP_UNLIKELY(static_cast<std::int64_t>(old + one_strong) < 0)) {
            rp_abort_retain(payload);
        }
    }

    // Gives up a reference.
    static void release(void* payload) noexcept {
        if (RP_UNLIKELY(RP_CHECKED)) {
            rp_release(payload);
            return;
        }
        // Release: pairs with the acquiring load by which the library begins the destruction, so that all
        // uses of the object happen before its destructor.
        const std::uint64_t old = subtract_release(&header(payload)->count, one_strong);
        if (RP_UNLIKELY(static_cast<std::int64_t>(old - one_strong) < 0)) {
            rp_last_release(payload);
        }
    }

    // The `destroy` function of objects that were made by `new`.
    static void delete_object(void* payload) noexcept {
        delete Access::object(payload);
    }

    static const rp_class* new_class(const char* name, std::size_t size, std::size_t align, std::size_t offset,
                                     void (*destroy)(void*), std::uint32_t frees_memory) noexcept {
        rp_class_desc desc{};
        desc.name = name;
        desc.size = size;
        desc.align = align;
        desc.payload_offset = offset;
        desc.destroy = destroy;
        desc.frees_memory = frees_memory;
        return made(rp_class_new(&desc));
    }

#if RP_TABLE_NAMES
    // Writes the name of the class whose objects have this pointer to virtual functions; nothing if the class
    // was compiled without RTTI, or is CountedObject: each object has that class's pointer while
    // ~CountedObject runs. The word before the first function points to the class's type_info.
    static void name_table(const void* table, char* to, std::size_t size) noexcept {
        const std::type_info* const type = static_cast<const std::type_info* const*>(table)[-1];
        if (type == nullptr || *type == typeid(CountedObject)) {
            return;
        }
        int status = 0;
        char* const name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
        std::snprintf(to, size, "%s", name != nullptr ? name : type->name());
        std::free(name);
    }
#endif

    // Makes a class of objects that `end` deletes. With RTTI, reports name the class of each object.
    static const rp_class* new_class_by_new(const char* name, void (*end)(void*)) noexcept {
        const rp_class* const made = new_class(name, sizeof(Object), alignof(Object), sizeof(Object), end, 1);
#if RP_TABLE_NAMES
        rp_embedded_name_by(made, &name_table);
#endif
        return made;
    }

    // The class of objects that were made by `new`, or not on the heap. With RTTI, reports name the class of
    // each object; without, they call all of them rp::Object.
    static const rp_class* any_class() noexcept {
        const rp_class* known = any_.load(std::memory_order_acquire);
        return known != nullptr ? known : make_any_class();
    }

    RP_RARE static const rp_class* make_any_class() noexcept {
        static const rp_class* const made = new_class_by_new("rp::Object", &delete_object);
        any_.store(made, std::memory_order_release);
        return made;
    }

    static inline std::atomic<const rp_class*> any_{nullptr};

    static void begin(Object* object) noexcept {
        object->rp_count_ = unique;
        object->rp_class_ = any_class();
        if (RP_UNLIKELY(RP_CHECKED)) {
            note(object->rp_class_, object->rp_payload());
        }
    }

    // Sets the class of a new object.
    static void set_class(Object* object, const rp_class* type) noexcept {
        object->rp_class_ = type;
        if (RP_UNLIKELY(RP_CHECKED)) {
            note_class(type, object->rp_payload());
        }
    }

    // Calls for checks, which the compiler keeps out of the usual path.
    RP_RARE static void note(const rp_class* type, void* payload) noexcept { rp_embedded_note(type, payload); }
    RP_RARE static void note_class(const rp_class* type, void* payload) noexcept {
        rp_embedded_note_class(type, payload);
    }

    // Writes the header of a new object whose class does not derive from Object.
    static void begin_plain(void* payload, const rp_class* type) noexcept {
        header(payload)->count = unique;
        header(payload)->type = type;
        if (RP_UNLIKELY(RP_CHECKED)) {
            note(type, payload);
        }
    }

    // Ends the value of an object of type T.
    template <class T> static void end(T* object) {
        if constexpr (std::is_destructible_v<T>) {
            object->T::~T();
        } else {
            static_cast<Object*>(object)->~Object();
        }
    }
};

// The class of the objects that rp::make makes.
template <class T> struct ClassOf {
    // The offset of the payload in the memory of an object.
    static std::size_t payload_offset() noexcept {
        if constexpr (is_object<T>) {
            alignas(T) static char place[sizeof(T)];
            T* const whole = reinterpret_cast<T*>(place);
            const char* const base = reinterpret_cast<char*>(static_cast<Object*>(whole));
            return static_cast<std::size_t>(base - place) + sizeof(Object);
        } else {
            return plain_offset;
        }
    }

    // The offset of the payload if T does not derive from Object.
    static constexpr std::size_t plain_offset = alignof(T) > sizeof(Header) ? alignof(T) : sizeof(Header);

    // True if objects have no destructor to run, and their values can be copied as bytes.
    static constexpr bool is_plain = !is_object<T> && std::is_trivially_copyable_v<T>;

    static const rp_class* get() noexcept {
        const rp_class* known = known_.load(std::memory_order_acquire);
        return known != nullptr ? known : make();
    }

private:
    static void destroy(void* payload) noexcept {
        contain<T>([payload] { Access::end(Access::from_payload<T>(payload)); });
    }

    RP_RARE static const rp_class* make() noexcept {
        static const rp_class* const made = [] {
            char name[200];
            copy_name<T>(name, sizeof(name));
            const std::size_t size = sizeof(T) + (is_object<T> ? 0 : plain_offset);
            const std::size_t align = alignof(T) > alignof(Header) ? alignof(T) : alignof(Header);
            auto* const end = std::is_trivially_destructible_v<T> ? nullptr : &destroy;
            return Access::new_class(name, size, align, payload_offset(), end, 0);
        }();
        known_.store(made, std::memory_order_release);
        return made;
    }

    static inline std::atomic<const rp_class*> known_{nullptr};
};

// Memory for an object, freed unless a constructor has succeeded and taken it.
struct Memory {
    const rp_class* type;
    void* memory;

    RP_INLINE explicit Memory(const rp_class* of) : type(of), memory(rp_embedded_alloc(context(), of)) {
        if (RP_UNLIKELY(memory == nullptr)) {
            fail_without_memory();
        }
    }
    RP_INLINE ~Memory() {
        if (RP_UNLIKELY(memory != nullptr)) {
            rp_embedded_free(type, memory);
        }
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
};

// True if a class that derives from Object has an operator new of its own.
template <class T, class = void> struct HasOwnNew : std::true_type {};
// Turns a function into a type: with sanitizers, constant expressions cannot compare functions.
template <void* (*function)(std::size_t)> struct NewFunction {};
template <class T>
struct HasOwnNew<T, std::void_t<decltype(static_cast<void* (*)(std::size_t)>(&T::operator new))>>
    : std::negation<std::is_same<NewFunction<static_cast<void* (*)(std::size_t)>(&T::operator new)>,
                                 NewFunction<static_cast<void* (*)(std::size_t)>(&Object::operator new)>>> {};

// Returns whether an object of class T is made by a new-expression, and freed by its operator delete.
template <class T> constexpr bool is_made_by_new() noexcept {
    if constexpr (!is_object<T>) {
        return false;
    } else if constexpr (!HasFixedBase<T>::value) {
        return true;
    } else {
        return HasOwnNew<T>::value;
    }
}

// Makes an object with one reference, which belongs to the caller.
template <class T, class... Args> RP_INLINE T* make_raw(Args&&... args) {
    if constexpr (is_made_by_new<T>()) {
        return new T(std::forward<Args>(args)...);
    } else {
        const rp_class* const type = ClassOf<T>::get();
        Memory memory(type);
        if constexpr (is_object<T>) {
            T* const made = ::new (memory.memory) T(std::forward<Args>(args)...);
            memory.memory = nullptr;
            Access::set_class(made, type);
            return made;
        } else {
            void* const payload = static_cast<char*>(memory.memory) + ClassOf<T>::plain_offset;
            T* const made = ::new (payload) T(std::forward<Args>(args)...);
            memory.memory = nullptr;
            Access::begin_plain(payload, type);
            return made;
        }
    }
}

} // namespace detail

inline CountedObject::CountedObject() noexcept { detail::Access::begin(this); }

// A reference, or null. Copies count; moves do not. T may be incomplete where a Ref<T> is a member.
template <class T> class Ref {
public:
    using element_type = T;

    constexpr Ref() noexcept : payload_(nullptr) {}
    constexpr Ref(std::nullptr_t) noexcept : payload_(nullptr) {}
    // Adds a reference to the object, which may be null. If T is no rp::Object, then rp::make or
    // rp::create must have made the object.
    explicit Ref(T* object) noexcept : payload_(detail::Access::payload_or_null(object)) {
        static_assert(!std::is_abstract_v<T> || detail::is_object<T>,
                      "an interface that is no rp::Object has no header before it: use a Ref to the class");
        retain();
    }
    Ref(const Ref& other) noexcept : payload_(other.payload_) { retain(); }
    Ref(Ref&& other) noexcept : payload_(other.payload_) { other.payload_ = nullptr; }
    template <class U, class = std::enable_if_t<detail::Converts<U, T>::value>>
    Ref(const Ref<U>& other) noexcept : payload_(other.payload_) {
        retain();
    }
    template <class U, class = std::enable_if_t<detail::Converts<U, T>::value>>
    Ref(Ref<U>&& other) noexcept : payload_(other.payload_) {
        other.payload_ = nullptr;
    }
    ~Ref() {
        if (payload_ != nullptr) {
            detail::Access::release(payload_);
        }
    }

    // The old object is released last: `p = p->next` and self-assignment are safe.
    Ref& operator=(Ref other) noexcept {
        swap(other);
        return *this;
    }

    T* get() const noexcept {
        return payload_ == nullptr ? nullptr : detail::Access::from_payload<T>(payload_);
    }
    // The reference must not be null.
    T* operator->() const noexcept { return detail::Access::from_payload<T>(payload_); }
    T& operator*() const noexcept { return *detail::Access::from_payload<T>(payload_); }
    explicit operator bool() const noexcept { return payload_ != nullptr; }

    void reset() noexcept { Ref().swap(*this); }
    void swap(Ref& other) noexcept { std::swap(payload_, other.payload_); }
    // Returns the object with its reference, which the caller now owns.
    T* release() noexcept {
        T* const object = get();
        payload_ = nullptr;
        return object;
    }
    // Returns the address that C knows, without a reference.
    void* to_c() const noexcept { return payload_; }
    // Takes over a reference of C, or null.
    static Ref from_c(void* object) noexcept {
        Ref made;
        made.payload_ = object;
        return made;
    }
    // Returns the address that C knows, with the reference, which the caller now owns.
    void* into_c() noexcept {
        void* const object = payload_;
        payload_ = nullptr;
        return object;
    }

private:
    template <class U> friend class Ref;

    void retain() const noexcept {
        if (payload_ != nullptr) {
            detail::Access::retain(payload_);
        }
    }

    void* payload_;
};

// Two references are equal if they refer to one object, whatever their classes.
template <class T, class U> bool operator==(const Ref<T>& a, const Ref<U>& b) noexcept {
    return a.to_c() == b.to_c();
}
template <class T, class U> bool operator!=(const Ref<T>& a, const Ref<U>& b) noexcept {
    return a.to_c() != b.to_c();
}
template <class T> bool operator==(const Ref<T>& a, std::nullptr_t) noexcept { return !a; }
template <class T> bool operator!=(const Ref<T>& a, std::nullptr_t) noexcept { return static_cast<bool>(a); }
template <class T, class U> bool operator<(const Ref<T>& a, const Ref<U>& b) noexcept {
    return std::less<const void*>()(a.to_c(), b.to_c());
}

// Makes an object with one reference.
template <class T, class... Args> Ref<T> make(Args&&... args) {
    return adopt(detail::make_raw<T>(std::forward<Args>(args)...));
}

// Takes over a reference that the caller owns, such as that of a new object.
template <class T> Ref<T> adopt(T* object) noexcept {
    return Ref<T>::from_c(detail::Access::payload_or_null(object));
}

// Makes an object that the calling thread's current pool owns, as `create()` does in Cocos2d-x. Not
// for thread-local destructors after the library has left the thread: see rp_new_autoreleased.
template <class T, class... Args> RP_INLINE T* create(Args&&... args) {
    if constexpr (detail::ClassOf<T>::is_plain) {
        // The value comes first, as making it may run code that drains the pool.
        const T value(std::forward<Args>(args)...);
        void* const payload = rp_embedded_create(detail::context(), detail::ClassOf<T>::get());
        return ::new (detail::made(payload)) T(value);
    } else {
        T* const made = detail::make_raw<T>(std::forward<Args>(args)...);
        rp_embedded_autorelease(detail::context(), detail::Access::payload(made));
        return made;
    }
}

// Moves a reference into the calling thread's current pool, and lends the object until that is drained.
template <class T> T* autorelease(Ref<T> object) noexcept {
    T* const lent = object.get();
    if (object) {
        rp_embedded_autorelease(detail::context(), object.into_c());
    }
    return lent;
}

template <class T, class U> Ref<T> static_pointer_cast(const Ref<U>& r) noexcept {
    static_assert(detail::is_object<T>, "only an rp::Object is found from another of its classes");
    return Ref<T>(static_cast<T*>(r.get()));
}
template <class T, class U> Ref<T> const_pointer_cast(const Ref<U>& r) noexcept {
    return Ref<T>(const_cast<T*>(r.get()));
}
template <class T, class U> Ref<T> dynamic_pointer_cast(const Ref<U>& r) noexcept {
    return Ref<T>(dynamic_cast<T*>(r.get()));
}

namespace detail {

// Owns a handle of the library, or none; a copy owns a handle of its own.
template <class H, class Copied, H* (*copy)(Copied*), rp_status (*free)(H*)> class Handle {
public:
    constexpr Handle() noexcept = default;
    explicit Handle(H* handle) noexcept : handle_(handle) {}
    Handle(const Handle& other) noexcept : handle_(other ? copy(other.handle_) : nullptr) {}
    Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle& operator=(Handle other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Handle() {
        if (handle_ != nullptr) {
            free(handle_);
        }
    }

    H* get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

private:
    H* handle_ = nullptr;
};

} // namespace detail

// A reference that does not keep its object alive. Any thread may lock it at any time.
template <class T> class Weak {
public:
    constexpr Weak() noexcept = default;
    constexpr Weak(std::nullptr_t) noexcept {}
    Weak(const Ref<T>& r) noexcept : weak_(r ? rp_weak_new(r.to_c()) : nullptr) {}
    explicit Weak(T* object) noexcept
        : weak_(object ? rp_weak_new(detail::Access::payload(object)) : nullptr) {}

    // Returns a reference, or null once the object is dead. A `delete` by hand (or the end of a scope) ends an
    // object when it reaches the destructor of rp::Object, so lock succeeds in the destructors of
    // derived classes. A release ends the object before its destructors run.
    Ref<T> lock() const noexcept { return Ref<T>::from_c(weak_ ? rp_weak_load(weak_.get()) : nullptr); }
    bool expired() const noexcept { return !weak_ || rp_strong_count(weak_.get()) == 0; }
    void reset() noexcept { *this = Weak(); }
    // Returns whether both refer to one object, dead or alive.
    friend bool operator==(const Weak& a, const Weak& b) noexcept { return a.weak_.get() == b.weak_.get(); }
    friend bool operator!=(const Weak& a, const Weak& b) noexcept { return !(a == b); }

private:
    detail::Handle<rp_weak, rp_weak, rp_weak_retain, rp_weak_release> weak_;
};

// A pool for the stack, current until it is closed, except while a pool opened inside it is open.
class AutoreleasePool {
public:
    explicit AutoreleasePool(const char* name = nullptr) noexcept {
        detail::check(rp_pool_open(&pool_, name));
    }
    // Does nothing if the scope around the pool has closed it.
    ~AutoreleasePool() { detail::check(rp_pool_close(&pool_), RP_STALE); }
    AutoreleasePool(const AutoreleasePool&) = delete;
    AutoreleasePool& operator=(const AutoreleasePool&) = delete;

    // Moves a reference into this pool, current or not, and lends the object until the next drain.
    template <class T> T* autorelease(Ref<T> object) noexcept {
        T* const lent = object.get();
        if (object) {
            detail::check(rp_pool_add(&pool_, object.into_c()));
        }
        return lent;
    }
    // Makes an object that this pool owns.
    template <class T, class... Args> T* create(Args&&... args) {
        return autorelease(make<T>(std::forward<Args>(args)...));
    }
    // Releases all entries, newest first; returns their number. In a destructor that a drain of this pool
    // has called, returns 0, and the drain in progress goes on.
    std::size_t drain() noexcept {
        std::size_t released = 0;
        detail::check(rp_pool_drain(&pool_, &released), RP_DRAINING);
        return released;
    }
    // Releases some entries: see rp_pool_drain_within. In a destructor that a drain of this pool has called,
    // returns zeros.
    rp_drained drain_within(std::size_t count, std::uint64_t nanoseconds) noexcept {
        rp_drained drained{};
        detail::check(rp_pool_drain_within(&pool_, count, nanoseconds, &drained), RP_DRAINING);
        return drained;
    }
    std::size_t size() noexcept { return rp_pool_len(&pool_); }
    // Returns whether the pool has an entry for the object; false for null.
    template <class T> bool contains(const T* object) noexcept {
        return object != nullptr && rp_pool_contains(&pool_, detail::Access::payload(object));
    }
    std::string dump() {
        std::string text;
        rp_pool_dump(&pool_, [](const char* part, void* to) { *static_cast<std::string*>(to) += part; }, &text);
        return text;
    }
    rp_pool* to_c() noexcept { return &pool_; }

private:
    rp_pool pool_;
};

// A callback on a thread that a foreign host owns, such as that of an SDK: everything that is
// autoreleased in it is released at its end.
class CallbackScope {
public:
    CallbackScope() noexcept : token_(rp_callback_begin()) {}
    ~CallbackScope() { detail::check(rp_callback_end(token_)); }
    CallbackScope(const CallbackScope&) = delete;
    CallbackScope& operator=(const CallbackScope&) = delete;

private:
    rp_pool_token token_;
};

// A place for one object, or none, that all threads may read and write.
template <class T> class Slot {
public:
    explicit Slot(Ref<T> object = nullptr) noexcept : slot_(detail::made(rp_slot_new(object.into_c()))) {}
    ~Slot() { rp_slot_free(slot_); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    Ref<T> load() const noexcept { return Ref<T>::from_c(rp_slot_load(slot_)); }
    // Lends the object until the pool is drained, without counting a reference.
    T* load(AutoreleasePool& pool) const noexcept {
        return Ref<T>::from_c(rp_slot_load_in(slot_, pool.to_c())).release();
    }
    void store(Ref<T> object) noexcept { rp_slot_store(slot_, object.into_c()); }
    Ref<T> swap(Ref<T> object) noexcept { return Ref<T>::from_c(rp_slot_swap(slot_, object.into_c())); }
    // Stores `object` if the slot holds `expected`; returns whether it did.
    bool compare_exchange(const T* expected, Ref<T> object) noexcept {
        bool exchanged = false;
        const void* const of_expected = detail::Access::payload_or_null(expected);
        if (rp_slot_compare_exchange(slot_, of_expected, object.to_c(), &exchanged) == RP_OK && exchanged) {
            static_cast<void>(object.into_c());
        }
        return exchanged;
    }

private:
    rp_slot* slot_;
};

namespace detail {

// Calls a function object that was moved to the heap, and frees it.
template <class F> void call_and_free(void* data) noexcept {
    const std::unique_ptr<F> f(static_cast<F*>(data));
    (*f)();
}

} // namespace detail

// A handle of a thread, for other threads. A function that is posted must not throw: an exception
// terminates the program.
class Thread {
public:
    // Returns the calling thread's handle. Aborts while the thread ends.
    static Thread current() noexcept { return Thread(detail::made(rp_thread_current())); }

    std::uint64_t key() const noexcept { return rp_thread_key(thread_.get()); }
    bool is_alive() const noexcept { return rp_thread_is_alive(thread_.get()); }
    // Makes the thread release the reference in its next outermost drain.
    template <class T> void release(Ref<T> object) const noexcept {
        if (object) {
            rp_thread_release(thread_.get(), object.into_c());
        }
    }
    // Makes the thread call `f` when it runs its inbox; returns false once the thread has ended.
    template <class F> bool post(F f) const {
        auto moved = std::make_unique<F>(std::move(f));
        if (rp_thread_post(thread_.get(), &detail::call_and_free<F>, moved.get()) != RP_OK) {
            return false;
        }
        static_cast<void>(moved.release());
        return true;
    }
    const rp_thread* to_c() const noexcept { return thread_.get(); }

private:
    explicit Thread(rp_thread* thread) noexcept : thread_(thread) {}
    detail::Handle<rp_thread, const rp_thread, rp_thread_clone, rp_thread_free> thread_;
};

// Runs what was posted to the calling thread; returns the number of functions.
inline std::size_t run_inbox() noexcept {
    std::size_t ran = 0;
    rp_run_inbox(&ran);
    return ran;
}

// A reference that any thread may hold, to an object that only its home, the thread that made the HomeRef,
// may use and destroy.
template <class T> class HomeRef {
public:
    constexpr HomeRef() noexcept = default;
    // The calling thread becomes the home.
    explicit HomeRef(Ref<T> object) noexcept : home_(object ? rp_home_new(object.into_c()) : nullptr) {}

    // Returns the object at home, and null elsewhere.
    T* get() const noexcept {
        void* const object = home_ ? rp_home_get(home_.get()) : nullptr;
        return Ref<T>::from_c(object).release();
    }
    explicit operator bool() const noexcept { return static_cast<bool>(home_); }

private:
    detail::Handle<rp_home, rp_home, rp_home_retain, rp_home_release> home_;
};

} // namespace rp

template <class T> struct std::hash<rp::Ref<T>> {
    std::size_t operator()(const rp::Ref<T>& r) const noexcept { return std::hash<void*>()(r.to_c()); }
};

#endif
