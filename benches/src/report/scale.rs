//! Positions in a chart.

/// A logarithmic axis between two round numbers.
pub struct Log {
    low: i32,
    high: i32,
    top: f64,
    bottom: f64,
}

/// Returns the round number with this index: 1, 2, 5, 10, 20 ..., with 1 at index 0.
fn round(at: i32) -> f64 {
    let digit = [1.0, 2.0, 5.0][at.rem_euclid(3) as usize];
    digit * 10f64.powi(at.div_euclid(3))
}

/// Returns the index of the largest round number that is not above `value`.
fn below(value: f64) -> i32 {
    let decade = value.log10().floor() as i32;
    // Logarithms are not exact, so the search begins a decade above.
    let mut at = 3 * (decade + 1);
    while round(at) > value * (1.0 + 1e-9) {
        at -= 1;
    }
    at
}

/// The smallest ratio of an axis's ends, so that noise does not look like a difference.
const LEAST_RANGE: f64 = 8.0;
/// The largest number of labels beside an axis.
const MOST_LABELS: usize = 9;

impl Log {
    /// Creates an axis that covers all values, which must be positive, between the positions `top`
    /// and `bottom`.
    pub fn over(values: impl Iterator<Item = f64>, top: f64, bottom: f64) -> Self {
        let (least, most) = values.fold((f64::MAX, 0.0), |(low, high), value| {
            (value.min(low), value.max(high))
        });
        let (mut low, mut high) = (0, 3);
        if least <= most {
            (low, high) = (below(least), below(most));
            if round(high) * (1.0 + 1e-9) < most {
                high += 1;
            }
        }
        while round(high) / round(low) < LEAST_RANGE {
            low -= 1;
            if round(high) / round(low) < LEAST_RANGE {
                high += 1;
            }
        }
        Self {
            low,
            high,
            top,
            bottom,
        }
    }

    /// Returns the position of a value.
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = (round(self.low).log10(), round(self.high).log10());
        let part = (value.log10() - low) / (high - low);
        self.bottom - part * (self.bottom - self.top)
    }

    /// Returns the round numbers that have a line, each with true if it also has a label.
    pub fn ticks(&self) -> Vec<(f64, bool)> {
        let all = self.low..=self.high;
        let decade = |every: i32| move |at: i32| at.rem_euclid(3 * every) == 0;
        let is_labelled: Box<dyn Fn(i32) -> bool> = if all.clone().count() <= MOST_LABELS {
            Box::new(|_| true)
        } else {
            let every = (1..)
                .find(|&every| all.clone().filter(|&at| decade(every)(at)).count() <= MOST_LABELS)
                .unwrap_or(1);
            Box::new(decade(every))
        };
        let decades = (self.high - self.low) / 3;
        all.filter(|&at| decades <= MOST_LABELS as i32 || is_labelled(at))
            .map(|at| (round(at), is_labelled(at)))
            .collect()
    }
}

/// Moves positions apart until they are at least `gap` from each other, and between `top` and
/// `bottom` if they fit, but not further than needed. Returns them in their original order.
pub fn apart(places: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<_> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
    // Groups of positions that touch: the best position of the first, and the number of positions.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let fitted = |wanted: f64, count: usize| {
        let room = (bottom - top - gap * (count - 1) as f64).max(0.0);
        wanted.clamp(top, top + room)
    };
    for &at in &order {
        let (mut first, mut count) = (places[at], 1);
        while let Some(&(before, others)) = blocks.last() {
            let end = fitted(before, others) + gap * others as f64;
            if fitted(first, count) >= end {
                break;
            }
            let sum = before * others as f64 + (first - gap * others as f64) * count as f64;
            count += others;
            first = sum / count as f64;
            blocks.pop();
        }
        blocks.push((first, count));
    }
    let spread = blocks.iter().flat_map(|&(wanted, count)| {
        let first = fitted(wanted, count);
        (0..count).map(move |i| first + gap * i as f64)
    });
    let mut moved = vec![0.0; places.len()];
    for (&at, place) in order.iter().zip(spread) {
        moved[at] = place;
    }
    moved
}
