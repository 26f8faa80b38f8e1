//! How a browser draws the page.

use super::browser::{Browser, installed};
use super::fixture::{crowded, sample};
use releasepool_benches::report::html;
use releasepool_benches::results::Results;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;

const WIDE: u32 = 1280;
/// A width at which the names beside the lines hardly fit.
const MIDDLE: u32 = 840;
const NARROW: u32 = 420;

/// Returns texts that overlap, are beyond the edge, or have too little contrast.
const TEXTS: &str = r#"() => {
    const luminance = colour => {
        if (!colour.startsWith('rgb')) return NaN;
        const [r, g, b] = colour.match(/[\d.]+/g).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const ground = getComputedStyle(document.body).backgroundColor;
    const behind = thing => {
        const colour = getComputedStyle(thing).backgroundColor;
        return colour === 'rgba(0, 0, 0, 0)' ? behind(thing.parentElement) : colour;
    };
    const bad = [];
    if (document.documentElement.scrollWidth > innerWidth) {
        bad.push('the page is wider than the window');
    }
    for (const thing of document.querySelectorAll('body :not(svg *)')) {
        const says = [...thing.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        const least = thing.classList.contains('mark') ? 3 : 4.5;
        if (says && !(contrast(getComputedStyle(thing).color, behind(thing)) >= least)) {
            bad.push(`“${thing.textContent}” can hardly be read`);
        }
    }
    for (const svg of document.querySelectorAll('svg')) {
        const texts = [...svg.querySelectorAll('text')].filter(t => t.getClientRects().length);
        const boxes = texts.map(t => t.getBoundingClientRect());
        texts.forEach((text, i) => {
            const box = boxes[i], say = what => bad.push(`${svg.dataset.scenario}: “${text.textContent}” ${what}`);
            if (box.left < 0 || box.right > innerWidth) say('is beyond the edge');
            if (!(contrast(getComputedStyle(text).fill, ground) >= 4.5)) say('can hardly be read');
            // Lines of text have room above and below the letters.
            const meets = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
            boxes.forEach((other, j) => { if (i < j && meets(box, other)) say(`meets “${texts[j].textContent}”`); });
        });
        for (const path of svg.querySelectorAll('.line .path')) {
            if (!(contrast(getComputedStyle(path).stroke, ground) >= 3)) bad.push('a line can hardly be seen');
        }
    }
    return bad;
}"#;

/// Returns each chart with its place and its lines, and each line with its parts.
const LINES: &str = "() => [...document.querySelectorAll('svg')].map(svg => {
    const box = svg.getBoundingClientRect();
    return {
        scenario: svg.dataset.scenario,
        clip: { x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1 },
        lines: [...svg.querySelectorAll('[data-implementation]')].map(line => ({
            name: line.dataset.implementation,
            points: +line.dataset.points,
            markers: [...line.querySelectorAll('.marker')].filter(m => {
                const at = m.getBoundingClientRect();
                return at.width > 4 && at.height > 4 && at.left >= box.left && at.right <= box.right
                    && at.top >= box.top && at.bottom <= box.bottom;
            }).length,
            path: line.querySelector('.path')?.getTotalLength() ?? 0,
        })),
    };
})";

/// Hides the nth of the selected elements, or shows all.
fn hide(browser: &mut Browser, selector: &str, nth: Option<usize>) {
    let nth = nth.map_or(-1, |nth| nth as i64);
    let hidden = format!(
        "() => document.querySelectorAll('{selector}').forEach((thing, i) => \
         thing.style.visibility = i === {nth} ? 'hidden' : '')"
    );
    browser.ask(&hidden);
}

fn save(browser: &mut Browser, file: &Path) {
    let size = browser.ask(
        "() => ({ x: 0, y: 0, scale: 1, width: innerWidth, height: document.documentElement.scrollHeight })",
    );
    let picture = browser.picture(&size);
    fs::write(file, picture).expect("the picture can be written");
}

/// Checks that each part of each line is visible: without it, the picture differs.
fn each_is_drawn(browser: &mut Browser) {
    let charts = browser.ask(LINES);
    let mut lines = 0;
    let mut markers = 0;
    for chart in charts.as_array().expect("charts") {
        let clip = &chart["clip"];
        let with = browser.picture(clip);
        assert!(
            with == browser.picture(clip),
            "two pictures of the same chart differ"
        );
        let seen = |browser: &mut Browser, selector: &str, nth, what: &Value| {
            hide(browser, selector, Some(nth));
            let without = browser.picture(clip);
            hide(browser, selector, None);
            let scenario = &chart["scenario"];
            // Not assert_ne, which would print the pictures.
            assert!(
                with != without,
                "{scenario}: {selector} {nth} of {what} is not visible"
            );
        };
        for line in chart["lines"].as_array().expect("lines") {
            let name = &line["name"];
            assert_eq!(
                line["markers"], line["points"],
                "{name}: markers are not in the chart"
            );
            assert!(line["path"].as_f64() > Some(50.0), "{name} has no line");
            let group = "[data-implementation] > .path";
            seen(browser, group, lines, name);
            lines += 1;
            for _ in 0..line["points"].as_u64().unwrap_or(0) {
                seen(browser, "[data-implementation] > .marker", markers, name);
                markers += 1;
            }
        }
    }
    let expected: usize = sample().scenarios.iter().map(|s| s.series.len()).sum();
    assert_eq!(lines, expected);
}

#[test]
fn a_browser_draws_every_line() {
    let Some(program) = installed() else {
        // Not by `eprintln`, whose output the test harness hides.
        let text = "no Chromium is installed (CHROMIUM can name one): only the report's markup is tested\n";
        let _ = std::io::stderr().write_all(text.as_bytes());
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    fs::create_dir_all(&folder).expect("the folder can be created");
    let write = |name: &str, results: &Results| {
        let file = folder.join(name);
        fs::write(&file, html(results)).expect("the page can be written");
        file
    };
    let page = write("report.html", &sample());
    let crowd = write("crowded.html", &crowded());
    let mut browser = Browser::start(&program, &folder);
    for scheme in ["light", "dark"] {
        for (width, name) in [(NARROW, "narrow"), (MIDDLE, "middle"), (WIDE, "wide")] {
            browser.look(width, scheme, "screen");
            for (page, prefix) in [(&crowd, "crowded-"), (&page, "")] {
                browser.open(page);
                browser
                    .ask("() => document.querySelectorAll('details').forEach(d => d.open = true)");
                let name = format!("{prefix}{scheme}-{name}.png");
                save(&mut browser, &folder.join(&name));
                assert_eq!(browser.ask(TEXTS), json!([]), "{name}");
            }
        }
        each_is_drawn(&mut browser);
    }
    browser.look(WIDE, "light", "print");
    browser.open(&page);
    let tables = browser
        .ask("() => [...document.querySelectorAll('.figures')].map(t => t.checkVisibility())");
    assert_eq!(
        tables,
        json!([true, true, true]),
        "tables are closed in print"
    );
}
