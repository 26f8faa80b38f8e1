//! What an object is, and what may be made of it.

/// Objects live for as long as anybody wants them to: they borrow nothing.
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

/// That is said of the type, not only of what makes one: a `Ref` cannot be shrunk to a
/// shorter lifetime, and then be given a shorter borrow.
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
/// The same type cannot even be named with a shorter one:
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

/// `unsize!` does what the compiler would do for an `Arc`, and no more: the type must
/// implement the trait.
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

/// It does not add `Send`,
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
/// nor to what does not have it,
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

/// nor does it make of an object what it is not: a cast would.
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

/// `unsize!` makes nothing unsafe of its operand.
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

/// `unsize!` works where unsafe code is forbidden.
///
/// ```
/// #![forbid(unsafe_code)]
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new([1, 2]) => [u8]);
/// ```
struct UnsizedWhereUnsafeIsForbidden;

/// An object is downcast to what may be `Send` and `Sync` only.
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

/// `get_mut` lends for no longer than the reference lives.
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

/// Nor is there a second reference meanwhile.
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

/// A pinned object is not moved out.
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

/// A reference to a type is not one to its subtype's parent, `'static` as both may be:
/// what the object is was settled when it was made.
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
