//! Tables of figures on standard output.

use crate::contest::Figure;
use comfy_table::TableComponent::{HeaderLines, MiddleHeaderIntersections};
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};

/// Returns an empty table with these titles and minimum widths. The widths let tables below each other
/// have their figures below each other. The first column is aligned left, the others right.
pub fn figures<const N: usize>(titles: [(&str, u16); N]) -> Table {
    let mut table = columns(titles.map(|(title, _)| title));
    for (at, (column, (_, width))) in table.column_iter_mut().zip(titles).enumerate() {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Returns an empty table with these titles. All columns are aligned left.
pub fn columns<'t>(titles: impl IntoIterator<Item = &'t str>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(HeaderLines, '─');
    table.set_style(MiddleHeaderIntersections, '─');
    table.set_header(titles);
    table
}

/// Formats a figure with its quartiles.
pub fn digits(figure: Figure) -> String {
    let Figure { low, median, high } = figure;
    if !median.is_finite() {
        return "none".to_owned();
    }
    let decimals = if median < 1_000.0 { 2 } else { 0 };
    format!("{median:.decimals$} ({low:.decimals$}..{high:.decimals$})")
}
