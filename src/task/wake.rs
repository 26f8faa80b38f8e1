//! `Wake`: a `Waker` that is a `Ref`.

use crate::object::strong::Ref;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// Wakes a task: [`std::task::Wake`], for values in a [`Ref`] instead of an `Arc`.
///
/// A `Ref<impl Wake>` converts into a [`Waker`] without an allocation. The methods are called as
/// functions, as on stable Rust only the standard library's pointers can be `self`. For a waker and
/// its clone, [`will_wake`](Waker::will_wake) returns true in all builds; with an `Arc`, it may
/// return false in optimized ones.
///
/// ```
/// use releasepool::task::Wake;
/// use releasepool::Ref;
/// use std::task::{Context, Poll, Waker};
/// use std::thread::Thread;
///
/// struct Unpark(Thread);
/// impl Wake for Unpark {
///     fn wake(this: Ref<Self>) {
///         this.0.unpark();
///     }
/// }
///
/// fn block_on<T>(future: impl Future<Output = T>) -> T {
///     let mut future = std::pin::pin!(future);
///     let waker = Waker::from(Ref::new(Unpark(std::thread::current())));
///     loop {
///         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
///             Poll::Ready(value) => return value,
///             Poll::Pending => std::thread::park(),
///         }
///     }
/// }
/// assert_eq!(block_on(async { 1 }), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `releasepool::task::Wake`",
    note = "a `Ref` is no `Arc`: implement `releasepool::task::Wake` instead of `std::task::Wake`"
)]
pub trait Wake: Send + Sync + 'static {
    /// Wakes the task, and releases the reference.
    fn wake(this: Ref<Self>);

    /// Wakes the task. By default, retains the object and calls [`wake`](Wake::wake).
    fn wake_by_ref(this: &Ref<Self>) {
        Self::wake(this.clone());
    }
}

/// The functions of a waker whose data is a `Ref<W>`.
struct Functions<W>(std::marker::PhantomData<W>);

impl<W: Wake> Functions<W> {
    /// Returns the table of the functions. [`Waker::will_wake`] compares tables by address, and the
    /// compiler may copy a constant to each place that uses it. So only this function uses the
    /// constant, and is not inlined. (A `static` would have one address, but cannot depend on `W`.)
    #[inline(never)]
    fn table() -> &'static RawWakerVTable {
        const { &RawWakerVTable::new(Self::clone, Self::wake, Self::wake_by_ref, Self::drop) }
    }

    /// Returns the waker's data as the reference from which it was made.
    ///
    /// # Safety
    /// `data` is the data of a waker with these functions, which is alive while the reference is
    /// used; the caller releases the reference only if it takes the waker over.
    unsafe fn reference(data: *const ()) -> ManuallyDrop<Ref<W>> {
        // SAFETY: `raw` made the data from the payload of a reference, which the waker owns.
        let payload = unsafe { NonNull::new_unchecked(data.cast_mut().cast::<W>()) };
        // SAFETY: the reference belongs to the waker, and is not dropped here.
        ManuallyDrop::new(unsafe { Ref::adopt(payload) })
    }

    fn raw(waker: Ref<W>) -> RawWaker {
        RawWaker::new(Ref::into_payload(waker).as_ptr().cast(), Self::table())
    }

    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: `Waker` calls this with its data while it is alive.
        let this = unsafe { Self::reference(data) };
        Self::raw(Ref::clone(&this))
    }

    unsafe fn wake(data: *const ()) {
        // SAFETY: `Waker` calls this with its data, and gives itself up.
        W::wake(ManuallyDrop::into_inner(unsafe { Self::reference(data) }));
    }

    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: `Waker` calls this with its data while it is alive.
        let this = unsafe { Self::reference(data) };
        W::wake_by_ref(&this);
    }

    unsafe fn drop(data: *const ()) {
        // SAFETY: `Waker` calls this with its data, and gives itself up.
        drop(ManuallyDrop::into_inner(unsafe { Self::reference(data) }));
    }
}

/// Takes the reference over, without an allocation or an atomic operation.
impl<W: Wake> From<Ref<W>> for Waker {
    fn from(waker: Ref<W>) -> Self {
        // SAFETY: the functions keep the contract of `RawWaker`, and may be called on any thread, as
        // a `W` is `Send` and `Sync`.
        unsafe { Self::from_raw(Functions::raw(waker)) }
    }
}

/// Takes the reference over, without an allocation or an atomic operation.
impl<W: Wake> From<Ref<W>> for RawWaker {
    fn from(waker: Ref<W>) -> Self {
        Functions::raw(waker)
    }
}
