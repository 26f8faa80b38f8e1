//! Serves another process of the benchmark: a process that was built with another global allocator does
//! the work of one contestant. See `rival`.

use crate::check;
use crate::rival::number;
use crate::scenarios::find;
use releasepool_benches::workload::Workload;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

#[cfg(feature = "global-jemalloc")]
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "global-mimalloc")]
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "global-snmalloc")]
#[global_allocator]
static GLOBAL: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

/// Prints how many objects a contestant creates and destroys on this many threads.
pub fn count(scenario: &str, name: &str, threads: &str) -> Result<(), String> {
    let contestant = find(scenario, name)?;
    let threads = threads.parse().map_err(|_| "no number of threads")?;
    let count = check::count(&contestant, threads)?;
    println!("{} {}", count.made, count.destroyed);
    Ok(())
}

/// Does the work of a contestant, with a thread for each connection, until the standard input ends.
pub fn serve(scenario: &str, name: &str) -> Result<(), String> {
    let workload = (find(scenario, name)?.measured)();
    connections(&workload).map_err(|error| error.to_string())
}

fn connections(workload: &Workload) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    let workload = workload.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let workload = workload.clone();
            thread::spawn(move || stream.and_then(|stream| turns(&workload, stream)));
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// Runs turns for one thread of the other process, until that closes the connection.
fn turns(workload: &Workload, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut job = workload.job();
    loop {
        let time = job(number(&mut stream)?);
        stream.write_all(&(time.as_nanos() as u64).to_le_bytes())?;
    }
}
