//! Files, and what has a descriptor.

use releasepool::Ref;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

#[test]
#[cfg_attr(miri, ignore = "reads and writes a file")]
fn references_to_a_file_share_its_position() {
    let path = std::env::temp_dir().join(format!("releasepool-io-{}", std::process::id()));
    let open = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path);
    let mut file = Ref::new(open.unwrap());
    std::fs::remove_file(&path).unwrap();
    let mut other = file.clone();
    write!(file, "{} ", 1).unwrap();
    assert_eq!(other.write(b"two").unwrap(), 3);
    other.write_all(b" ").unwrap();
    assert_eq!(file.write_vectored(&[IoSlice::new(b"3")]).unwrap(), 1);
    file.flush().unwrap();
    assert_eq!(other.stream_position().unwrap(), 7);
    other.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "1 two 3");
    assert_eq!(other.seek(SeekFrom::Start(2)).unwrap(), 2);
    let mut word = [0; 3];
    file.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"two");
    other.seek_relative(-3).unwrap();
    let mut one = [0];
    assert_eq!((file.read(&mut one).unwrap(), one), (1, *b"t"));
    other.seek_relative(-1).unwrap();
    assert_eq!(
        file.read_vectored(&mut [IoSliceMut::new(&mut word[..2])])
            .unwrap(),
        2
    );
    let mut rest = Vec::new();
    assert_eq!(other.read_to_end(&mut rest).unwrap(), 3);
    assert_eq!(file.read(&mut word).unwrap(), 0);
    #[cfg(unix)]
    {
        use std::os::fd::{AsFd, AsRawFd};
        assert_eq!(file.as_fd().as_raw_fd(), other.as_raw_fd());
        assert_eq!(file.as_raw_fd(), (*file).as_raw_fd());
        let shared: Ref<dyn AsFd> = releasepool::unsize!(file => dyn AsFd);
        assert_eq!(shared.as_fd().as_raw_fd(), other.as_raw_fd());
    }
}
