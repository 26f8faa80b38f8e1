//! Objects, slots and hot objects.

use super::*;

pub(super) const ROWS: &[Row] = &[
    ("Ref", || {
        let blocks = &shared().blocks;
        calls(|n| drop(Ref::new(n)));
        call(|| drop(Ref::new([1_u8; 5_000])));
        calls(|n| drop((Ref::new_in(n, blocks), Ref::try_new_in(n, blocks).ok())));
        call(|| {
            drop(Ref::new_cyclic(|weak: &Weak<(Weak<()>, u8)>| {
                assert!(weak.upgrade().is_none());
                (Weak::new(), 1)
            }))
        });
        call(|| drop((Ref::pin(1), Ref::<u8>::new_uninit(), Ref::<u8>::default())));
        call(|| drop(Ref::<[u8]>::new_uninit_slice(9)));
        call(|| drop(Ref::new_slice_in(&[1], blocks)));
        // SAFETY: zeros are values of these types.
        call(|| unsafe {
            drop(Ref::<u8>::new_zeroed().assume_init());
            drop(Ref::<[u8]>::new_zeroed_slice(9).assume_init());
        });
        call(|| drop(Ref::try_new_slice_in(&[1], blocks)));
        call(|| drop(Ref::new_str_in("text", blocks)));
        call(|| Ref::try_new_str_in("text", blocks).is_ok());
        call(|| drop(Ref::<str>::from("text")));
        call(|| drop(Ref::<str>::from(String::from("text"))));
        call(|| drop((Ref::<[u8]>::from(vec![1]), Ref::<[u8]>::from(&[1_u8][..]))));
        let some: Ref<[usize]> = call(|| (0..100).collect());
        call(|| Ref::<[usize; 100]>::try_from(some).is_ok());
    }),
    ("Ref", || {
        let mut object = Ref::new(1);
        let other = call(|| object.clone());
        call(|| *Ref::make_mut(&mut object) = 2);
        call(|| Ref::get_mut(&mut object).is_some());
        call(|| Ref::ptr_eq(&object, &other));
        call(|| drop(Ref::downgrade(&object)));
        call(|| Ref::strong_count(&object));
        call(|| Ref::weak_count(&object));
        call(|| Ref::as_ptr(&object));
        // SAFETY: a pointer of `into_raw`, and one reference more and less.
        let object = call(|| unsafe {
            let raw = Ref::into_raw(object);
            Ref::increment_strong_count(raw);
            Ref::decrement_strong_count(raw);
            Ref::from_raw(raw)
        });
        call(|| format!("{object:?}{object}"));
        call(|| Ref::autorelease(object));
        call(|| Ref::into_inner(Ref::new(1)));
        call(|| Ref::try_unwrap(Ref::new(1)).is_ok());
        call(|| Ref::unwrap_or_clone(other.clone()));
        let any = unsize!(Ref::new(1) => dyn std::any::Any + Send + Sync);
        call(|| any.downcast::<i32>().is_ok());
        call(|| drop(other));
    }),
    ("Ref", || {
        let path = std::env::temp_dir().join(format!("releasepool-{}", std::process::id()));
        let mut file = Ref::new(std::fs::File::create_new(&path).unwrap());
        call(|| file.write_fmt(format_args!("{}", 5)).unwrap());
        assert_eq!(call(|| file.write(b"t").unwrap()), 1);
        call(|| file.write_all(b"ext").unwrap());
        call(|| file.write_vectored(&[]).unwrap());
        call(|| file.flush().unwrap());
        let mut file = Ref::new(std::fs::File::open(&path).unwrap());
        assert_eq!(call(|| file.read(&mut [0]).unwrap()), 1);
        call(|| file.read_exact(&mut [0]).unwrap());
        call(|| file.rewind().unwrap());
        let mut bytes = Vec::new();
        call(|| file.read_to_end(&mut bytes).unwrap());
        call(|| file.read_vectored(&mut []).unwrap());
        call(|| file.seek(SeekFrom::Start(0)).unwrap());
        call(|| file.seek_relative(0).unwrap());
        call(|| file.stream_position().unwrap());
        call(|| file.read_to_string(&mut String::new()).unwrap());
        std::fs::remove_file(path).unwrap();
    }),
    ("Weak", || {
        let object = Ref::new(1);
        let weak = Ref::downgrade(&object);
        call(|| drop((weak.upgrade(), Weak::<u8>::new(), Weak::<u8>::default())));
        call(|| weak.strong_count());
        call(|| weak.weak_count());
        call(|| weak.as_ptr());
        call(|| weak.ptr_eq(&weak));
        // SAFETY: a pointer of `into_raw`.
        let weak = call(|| unsafe { Weak::from_raw(weak.into_raw()) });
        call(|| drop(weak.clone()));
        drop(object);
        shown(weak);
    }),
    ("Wake", || {
        struct Nothing;
        impl Wake for Nothing {
            fn wake(_: Ref<Self>) {}
        }
        let waker: Waker = call(|| Ref::new(Nothing).into());
        call(|| waker.wake_by_ref());
        let other = call(|| waker.clone());
        call(|| other.wake());
    }),
    ("HomeRef", || {
        let home = call(|| HomeRef::new(vec![1]));
        call(|| home.get().is_some());
        call(|| home.home());
        call(|| home.with(Vec::len));
        call(|| drop((HomeRef::downgrade(&home), home.clone(), home.ptr_eq(&home))));
        call(|| drop(HomeRef::new_or_anywhere(vec![1])));
        call(|| drop(HomeRef::new_on(&me(), || vec![1])));
        let away = home.clone();
        fresh(|| call(|| drop(away)));
        call(|| autoreleasepool(|_| ()));
        shown(home);
    }),
    ("HomeWeak", || {
        let home = HomeRef::new(1);
        let weak = HomeRef::downgrade(&home);
        call(|| weak.upgrade().is_some());
        call(|| weak.strong_count());
        call(|| weak.weak_count());
        call(|| drop(HomeWeak::<u8>::new()));
        call(|| drop(HomeWeak::<u8>::default()));
        call(|| weak.ptr_eq(&weak));
        cloned(weak);
    }),
    ("PendingHome", || {
        let looper = Looper::spawn("home").unwrap();
        looper.call(|| drop(AutoreleasePool::new())).unwrap();
        let pending = call(|| HomeRef::new_on(looper.thread(), || vec![1]));
        call(|| (pending.home().key(), pending.try_get().is_some()));
        call(|| pending.wait_within(LONG).is_some());
        assert!(call(|| pending.wait()).is_ok());
        shown(pending);
    }),
    ("NotMade", || cloned(NotMade::Panicked(Some("text".into())))),
    ("Hot", || {
        let hot = call(|| Hot::try_new(Ref::new(vec![1]))).unwrap();
        call(|| Hot::ptr_eq(&hot, &hot));
        call(|| drop(Hot::downgrade(&hot)));
        call(|| drop(Hot::to_ref(&hot)));
        calls(|_| drop(hot.get()));
        shown(hot);
        call(Hot::review);
        calls(|n| drop(Hot::new(Ref::new(n))));
    }),
    ("HotRef", || {
        let hot = Hot::new(Ref::new(vec![1]));
        let shared = hot.get();
        call(|| drop(HotRef::downgrade(&shared)));
        call(|| drop(HotRef::to_ref(&shared)));
        call(|| HotRef::ptr_eq(&shared, &shared.clone()));
        drop(hot);
        shown(shared);
    }),
    ("HotTableFull", || {
        let mut all = Vec::new();
        let full = loop {
            match Hot::try_new(Ref::new(1)) {
                Ok(hot) => all.push(hot),
                Err(full) => break full,
            }
        };
        call(|| format!("{full:?}{full}"));
        call(|| drop(full.into_inner()));
        dropped(all);
    }),
    ("Slot", || {
        let slot = call(|| Slot::new(Ref::new(1)));
        call(|| drop(Slot::<u8>::default()));
        let pools = calls(|_| AutoreleasePool::new());
        pools.iter().for_each(|pool| _ = *call(|| slot.load(pool)));
        calls(|n| slot.store(Ref::new(n as u32)));
        dropped(pools);
        call(|| drop((slot.load_full(), slot.swap(Ref::new(2)), slot.with(|n| *n))));
        call(|| drop(slot.rcu(|n| Ref::new(n + 1))));
        let now = slot.load_full();
        call(|| slot.compare_exchange(&now, Ref::new(3)).is_ok());
        shown(slot);
        let object = || unsize!(Ref::new(1) => dyn std::fmt::Debug + Send + Sync);
        let slot = call(|| Slot::new_dyn(object()));
        let pool = AutoreleasePool::new();
        call(|| format!("{:?}{:?}", slot.load_dyn(&pool), slot.load_full_dyn()));
        call(|| slot.store_dyn(object()));
    }),
    ("OptionSlot", || {
        let slot = call(|| OptionSlot::new(Some(Ref::new(1))));
        call(|| drop((OptionSlot::<u8>::empty(), OptionSlot::<u8>::default())));
        let pool = AutoreleasePool::new();
        call(|| (slot.is_empty(), slot.load(&pool).is_some()));
        calls(|n| slot.store(Some(Ref::new(n))));
        call(|| drop(slot.load_full()));
        call(|| drop(slot.swap(None)));
        call(|| drop(slot.take()));
        call(|| slot.with(|_| ()));
        call(|| drop(slot.rcu(|_| Some(Ref::new(2)))));
        call(|| slot.compare_exchange(None, None).is_ok());
        shown(slot);
    }),
    ("SlotCache", || {
        let slot = Ref::new(Slot::new(Ref::new(1)));
        let mut cache = call(|| SlotCache::new(slot.clone()));
        call(|| drop(cache.load().clone()));
        slot.store(Ref::new(2));
        call(|| drop(cache.load().clone()));
        call(|| cache.clear());
        cloned(cache);
    }),
];
