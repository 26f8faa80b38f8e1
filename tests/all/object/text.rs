//! Texts: from what they are made, and how they are changed.

use super::payloads::through_everything;
use crate::support::assert_says;
use releasepool::{AutoreleasePool, PoolRef, Ref};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

#[test]
fn of_every_type() {
    through_everything(|| Ref::from("grüße"), "grüße");
    through_everything(|| Ref::from(String::from("grüße").as_mut_str()), "grüße");
    through_everything(|| Ref::from(String::from("grüße")), "grüße");
    through_everything(|| Ref::from(Cow::Borrowed("grüße")), "grüße");
    through_everything(|| Ref::from(Cow::<str>::Owned("grüße".into())), "grüße");
    let mut upper = Ref::<str>::from(Box::from("grüße"));
    Ref::get_mut(&mut upper).unwrap().make_ascii_uppercase();
    assert_eq!(&*upper, "GRüßE");
}

#[test]
fn of_the_operating_system() {
    let (text, path) = (OsStr::new("text"), Path::new("dir/text"));
    through_everything(|| Ref::from(text), text);
    through_everything(|| Ref::from(OsString::from("text")), text);
    through_everything(|| Ref::from(Cow::Borrowed(text)), text);
    through_everything(|| Ref::from(Cow::<OsStr>::Owned("text".into())), text);
    through_everything(|| Ref::from(&mut *Box::<OsStr>::from(text)), text);
    through_everything(|| Ref::from(path), path);
    through_everything(|| Ref::from(PathBuf::from("dir/text")), path);
    through_everything(|| Ref::from(Cow::Borrowed(path)), path);
    through_everything(|| Ref::from(Cow::<Path>::Owned(path.into())), path);
    through_everything(|| Ref::from(Box::<Path>::from(path).as_mut()), path);
    through_everything(|| Ref::from(Box::<Path>::from(path)), path);
    through_everything(|| Ref::from(Box::<OsStr>::from(text)), text);
    through_everything(|| Ref::<OsStr>::from(OsStr::new("")), OsStr::new(""));
    fn is_file(path: impl AsRef<Path>) -> bool {
        path.as_ref().extension().is_some()
    }
    assert!(!is_file(&*Ref::<Path>::from(path)));
}

#[test]
fn of_c() {
    through_everything(|| Ref::from(c"text"), c"text");
    through_everything(|| Ref::from(CString::from(c"text")), c"text");
    through_everything(|| Ref::from(Cow::Borrowed(c"text")), c"text");
    through_everything(|| Ref::from(Cow::<CStr>::Owned(c"text".into())), c"text");
    through_everything(|| Ref::from(Box::<CStr>::from(c"text").as_mut()), c"text");
    through_everything(|| Ref::from(Box::<CStr>::from(c"text")), c"text");
}

#[test]
fn slices_of_every_form() {
    let strings = || vec![String::from("a"), String::from("b")];
    through_everything(|| Ref::<[String]>::from(&mut strings()[..]), &strings()[..]);
    through_everything(
        || Ref::<[String]>::from(Cow::Owned(strings())),
        &strings()[..],
    );
    let values = strings();
    through_everything(
        || Ref::<[String]>::from(Cow::Borrowed(&values[..])),
        &values[..],
    );
}

#[test]
fn make_mut_clones_shared_texts_and_leaves_others_where_they_are() {
    fn check<T>(text: &T, make_mut: fn(&mut Ref<T>) -> &mut T)
    where
        T: ?Sized + PartialEq + Debug + 'static,
        for<'a> Ref<T>: From<&'a T>,
    {
        let mut object = Ref::from(text);
        let place = Ref::as_ptr(&object).cast::<u8>();
        let changed = |object: &mut Ref<T>| std::ptr::from_mut(make_mut(object)).cast::<u8>();
        assert_eq!(changed(&mut object).cast_const(), place);
        let other = object.clone();
        let cloned = changed(&mut object);
        assert_ne!(cloned.cast_const(), place, "a clone");
        assert_eq!((&*object, &*other), (text, text));
        drop(other);
        let weak = Ref::downgrade(&object);
        assert_ne!(changed(&mut object), cloned, "moved");
        assert_eq!(&*object, text);
        assert!(weak.upgrade().is_none());
    }
    check("text", Ref::make_mut);
    check(c"text", Ref::make_mut);
    check(OsStr::new("text"), Ref::make_mut);
    check(Path::new("text"), Ref::make_mut);
    check(&["a", "b"].map(String::from)[..], Ref::make_mut);
    let mut text = Ref::<OsStr>::from(OsStr::new("text"));
    let other = text.clone();
    Ref::make_mut(&mut text).make_ascii_uppercase();
    assert_eq!((&*text, &*other), (OsStr::new("TEXT"), OsStr::new("text")));
}

#[test]
fn pools_name_the_type_of_a_text() {
    let pool = AutoreleasePool::new();
    let path: PoolRef<'_, Path> = pool.autorelease(Ref::from(Path::new("a/b")));
    pool.autorelease(Ref::<OsStr>::from(OsStr::new("c")));
    assert_eq!(path.file_name(), Some(OsStr::new("b")));
    let dump = pool.dump().to_string();
    assert_says(&dump, &["std::path::Path", "OsStr"]);
}
