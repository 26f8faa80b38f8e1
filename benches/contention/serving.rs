//! The program that has another global allocator: does the work of one contestant for `contention`,
//! which builds and starts it. See `rival`.

use crate::scenario::Contestant;
use crate::{check, instructions, rival, scenarios};
use releasepool_benches::workload::Workload;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;

/// Does what the arguments say.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let find = |scenario, implementation| {
        let found = scenarios::find(scenario, implementation);
        found.ok_or_else(|| "no such work".to_owned())
    };
    let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no number"));
    let end = match arguments[..] {
        ["--serve", scenario, name] => {
            find(scenario, name).and_then(|c| serve(&c).map_err(|error| error.to_string()))
        }
        ["--check", scenario, name, threads] => find(scenario, name).and_then(|contestant| {
            let count = check::count(&contestant, number(threads)? as usize)?;
            println!("{} {} {}", count.made, count.destroyed, count.peak);
            Ok(())
        }),
        ["--count-turns", scenario, name, turns] => find(scenario, name).and_then(|contestant| {
            instructions::run(&contestant, number(turns)?);
            Ok(())
        }),
        _ => {
            println!("a part of the benchmark contention, which starts it");
            Ok(())
        }
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::from(1)
        }
    }
}

/// Does the work of a contestant, with a thread for each connection, until the standard input ends.
fn serve(contestant: &Contestant) -> io::Result<()> {
    let workload = (contestant.measured)();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let workload = workload.clone();
            thread::spawn(move || stream.and_then(|stream| turns(&workload, stream)));
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// Runs turns for one thread of the other process, until it closes the connection.
fn turns(workload: &Workload, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut job = workload.job();
    loop {
        let time = job(rival::number(&mut stream)?);
        stream.write_all(&(time.as_nanos() as u64).to_le_bytes())?;
    }
}
