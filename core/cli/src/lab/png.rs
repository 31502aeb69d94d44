//! Pictures as PNG.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::outcome::CommandError;

/// Pixels per unit: sharp on a fine screen, and in print.
const SCALE: f32 = 2.0;

/// The fonts of this machine.
pub(super) struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    pub(super) fn load() -> Self {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        // Some text rather than none where the usual fonts are missing.
        let family = fonts.faces().find_map(|face| face.families.first().map(|family| family.0.clone()));
        if let Some(family) = family {
            fonts.set_sans_serif_family(family);
        }
        Self(Arc::new(fonts))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn png(&self, svg: &str) -> Result<Vec<u8>, CommandError> {
        let options = Options { fontdb: self.0.clone(), ..Options::default() };
        let cannot = |reason: String| CommandError::Other(format!("cannot draw a picture as PNG: {reason}"));
        let tree = Tree::from_str(svg, &options).map_err(|error| cannot(error.to_string()))?;
        let size = tree.size();
        let pixels = Pixmap::new((size.width() * SCALE) as u32, (size.height() * SCALE) as u32);
        let mut pixels = pixels.ok_or_else(|| cannot("it is too large".to_owned()))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| cannot(error.to_string()))
    }
}
