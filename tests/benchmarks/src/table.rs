//! Markdown tables, aligned so that they are readable as text too.

use std::fmt;

#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { rows: vec![columns.iter().map(|&column| column.to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.rows[0].len())
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max())
            .map(|width| width.unwrap_or(0).max(3))
            .collect();
        for (number, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "| {cell:width$} ")?;
            }
            writeln!(f, "|")?;
            if number == 0 {
                let rules = widths.iter().map(|&width| "-".repeat(width + 2));
                writeln!(f, "|{}|", rules.collect::<Vec<_>>().join("|"))?;
            }
        }
        Ok(())
    }
}
