//! scratch
use releasepool::Ref;
use releasepool_inspect::graph::NodeKind;
use releasepool_inspect::image::Image;
use releasepool_inspect::image::process::ProcessImage;
struct Node {
    next: Option<Ref<Node>>,
    _pad: [u64; 4],
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "make" {
        let n: usize = args[2].parse().unwrap();
        let mut all = Vec::new();
        let mut last = None;
        for i in 0..n {
            let node = Ref::new(Node {
                next: last.take(),
                _pad: [i as u64; 4],
            });
            last = Some(node.clone());
            all.push(node);
            if i % 1000 == 0 {
                last = None;
            }
        }
        println!("{}", std::process::id());
        std::thread::sleep(std::time::Duration::from_secs(1000));
        drop(all);
        return;
    }
    let t = std::time::Instant::now();
    let image = ProcessImage::take(args[2].parse().unwrap()).unwrap();
    eprintln!("image {:?} stopped {:?}", t.elapsed(), image.stopped());
    let t = std::time::Instant::now();
    let library = releasepool_inspect::library::Library::read(&image).unwrap();
    eprintln!("library {:?}", t.elapsed());
    let st = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = st.split(' ').collect();
    eprintln!("before: user {}0 ms sys {}0 ms", f[13], f[14]);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for l in status
        .lines()
        .filter(|l| l.starts_with("VmHWM") || l.starts_with("VmRSS"))
    {
        println!("{l}");
    }
    let t = std::time::Instant::now();
    let graph = releasepool_inspect::discovery::discover(&image, &library);
    eprintln!("discover {:?}", t.elapsed());
    let st = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = st.split(' ').collect();
    eprintln!("user {}0 ms sys {}0 ms", f[13], f[14]);
    println!(
        "{} nodes {} objects {} edges {} roots {:?} {:?}",
        graph.nodes.len(),
        graph.objects,
        graph.edges.len(),
        graph.roots.len(),
        graph.types,
        graph.caveats
    );
    for node in graph.nodes.iter().take(5) {
        println!("{node:x?}");
    }
    for edge in graph.edges.iter().take(5) {
        println!("{edge:?}");
    }
    for root in graph.roots.iter().take(100) {
        if let NodeKind::Object(_) = graph.nodes[root.to as usize].kind {
            println!("{root:x?}");
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for l in status
        .lines()
        .filter(|l| l.starts_with("VmHWM") || l.starts_with("VmRSS"))
    {
        println!("{l}");
    }
}
