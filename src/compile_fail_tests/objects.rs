//! Objects: bounds on their types, conversions between handles, mutable access.

/// An object cannot contain a borrow, because it may live as long as the process.
///
/// ```compile_fail,E0597
/// let text = String::from("text");
/// let object = releasepool::Ref::new(text.as_str());
/// ```
///
/// ```
/// let text = "text";
/// let object = releasepool::Ref::new(text);
/// ```
struct RefOfABorrow;

/// The bound `'static` is on the type `Ref` itself, not only on its constructors: a `Ref` cannot be
/// shrunk to a shorter lifetime and then be given a shorter borrow.
///
/// ```compile_fail,E0597
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// let mut object: Ref<Say<'static>> = Ref::new(Say("for ever"));
/// releasepool::autorelease(object.clone());
/// let text = String::from("not for long");
/// if let Some(say) = Ref::get_mut(&mut object) {
///     say.0 = &text;
/// }
/// ```
///
/// ```
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// let mut object: Ref<Say<'static>> = Ref::new(Say("for ever"));
/// releasepool::autorelease(object.clone());
/// let text = "for ever, too";
/// if let Some(say) = Ref::get_mut(&mut object) {
///     say.0 = &text;
/// }
/// ```
///
/// A `Ref` of a type with a shorter lifetime cannot even be named:
///
/// ```compile_fail,E0597
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// fn shrink<'a>(object: Ref<Say<'static>>, _: &'a str) -> Ref<Say<'a>> {
///     object
/// }
/// let text = String::from("not for long");
/// shrink(Ref::new(Say("for ever")), &text);
/// ```
///
/// ```
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// fn shrink<'a>(object: Ref<Say<'static>>, _: &'a str) -> Ref<Say<'a>> {
///     object
/// }
/// let text = "for ever, too";
/// shrink(Ref::new(Say("for ever")), &text);
/// ```
struct RefShrunk;

/// `unsize!` performs the coercions that the compiler performs for an `Arc`, and no others: the
/// type must implement the trait.
///
/// ```compile_fail,E0277
/// use releasepool::{Ref, unsize};
/// struct Silent;
/// let object = unsize!(Ref::new(Silent) => dyn std::fmt::Debug);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// #[derive(Debug)]
/// struct Silent;
/// let object = unsize!(Ref::new(Silent) => dyn std::fmt::Debug);
/// ```
struct UnsizedToAnotherTrait;

/// `unsize!` cannot add `Send` to a trait object,
///
/// ```compile_fail,E0308
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Sync);
/// let object = unsize!(object => dyn Any + Send + Sync);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Send + Sync);
/// let object = unsize!(object => dyn Any + Sync);
/// ```
///
/// and cannot make a `Send` trait object of a type that is not `Send`.
///
/// ```compile_fail,E0277
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(std::rc::Rc::new(7)) => dyn std::any::Any + Send);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(std::rc::Rc::new(7)) => dyn std::any::Any);
/// ```
struct UnsizedAddingSend;

/// `unsize!` only coerces; it does not cast.
///
/// ```compile_fail,E0308
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new([1u8, 2]) => [u16]);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new([1u16, 2]) => [u16]);
/// ```
///
/// ```compile_fail,E0308
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(1u8) => i8);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(1i8) => i8);
/// ```
struct UnsizedByACast;

/// `unsize!` does not turn its operand into an unsafe context.
///
/// ```compile_fail,E0133
/// use releasepool::{Ref, unsize};
/// unsafe fn object() -> Ref<[u8; 2]> {
///     Ref::new([1, 2])
/// }
/// let object = unsize!(object() => [u8]);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// fn object() -> Ref<[u8; 2]> {
///     Ref::new([1, 2])
/// }
/// let object = unsize!(object() => [u8]);
/// ```
struct UnsizedUnsafely;

/// `unsize!` works where unsafe code is forbidden, and what Rust forbids for a whole crate only;
/// `tests/all/object/unsizing.rs` forbids the other groups of lints.
///
/// ```
/// #![forbid(unsafe_code, unused_unsafe)]
/// #![forbid(future_incompatible, rust_2021_compatibility, rust_2024_compatibility)]
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new([1, 2]) => [u8]);
/// ```
struct UnsizedWhereUnsafeIsForbidden;

/// An object that is `Send` and `Sync` can be downcast only to types that are, too.
///
/// ```compile_fail,E0277
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Send + Sync);
/// let object = object.downcast::<std::rc::Rc<u8>>();
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Send + Sync);
/// let object = object.downcast::<std::sync::Arc<u8>>();
/// ```
struct DowncastToNotSend;

/// A borrow from `get_mut` cannot outlive the `Ref`.
///
/// ```compile_fail,E0505
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::get_mut(&mut object).unwrap();
/// drop(object);
/// *value = 8;
/// ```
///
/// ```
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::get_mut(&mut object).unwrap();
/// *value = 8;
/// drop(object);
/// ```
struct MutableBeyondTheReference;

/// A `Ref` cannot be cloned while a borrow from `make_mut` is in use.
///
/// ```compile_fail,E0502
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::make_mut(&mut object);
/// let other = object.clone();
/// *value = 8;
/// ```
///
/// ```
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::make_mut(&mut object);
/// *value = 8;
/// let other = object.clone();
/// ```
struct MutableAndShared;

/// A pinned object cannot be moved out.
///
/// ```compile_fail,E0308
/// use releasepool::Ref;
/// let pinned = Ref::pin(std::marker::PhantomPinned);
/// let moved = Ref::into_inner(pinned);
/// ```
///
/// ```
/// use releasepool::Ref;
/// let not_pinned = Ref::new(std::marker::PhantomPinned);
/// let moved = Ref::into_inner(not_pinned);
/// ```
struct PinnedAndMoved;

/// `Ref<T>` is invariant: a `Ref` of a subtype is no `Ref` of its supertype, even if both are
/// `'static`, because the object keeps the destructor of the type that it was made with.
///
/// ```compile_fail,E0308
/// use releasepool::Ref;
/// type Any = for<'a> fn(&'a u8);
/// type Long = fn(&'static u8);
/// fn as_long(object: Ref<Any>) -> Ref<Long> {
///     object
/// }
/// ```
///
/// ```
/// use releasepool::Ref;
/// type Any = for<'a> fn(&'a u8);
/// type Long = fn(&'static u8);
/// fn as_long(object: Ref<Any>) -> Ref<Any> {
///     object
/// }
/// ```
struct RefOfASubtype;
