//! Where the window was, and whether it can be there again.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// Where the window was, in physical pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Frame {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) maximized: bool,
}

impl Frame {
    /// Reads where the window was; `None` when that is not known or makes no sense.
    pub(super) fn load(file: &Path) -> Option<Frame> {
        let frame: Frame = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        ((200..20_000).contains(&frame.width) && (150..20_000).contains(&frame.height))
            .then_some(frame)
    }

    pub(super) fn save(&self, file: &Path) {
        let Ok(text) = serde_json::to_string(self) else { return };
        let new = file.with_extension("json.new");
        let saved = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, file));
        if let Err(error) = saved {
            tracing::warn!(file = %file.display(), %error, "the window's place is not remembered");
        }
    }

    /// Says whether enough of the title lies on a screen (x, y, width, height) to be taken hold of.
    pub(super) fn is_reachable(&self, screens: &[(i32, i32, u32, u32)]) -> bool {
        screens.iter().any(|&(x, y, width, height)| {
            let (right, bottom) = (x + width.cast_signed(), y + height.cast_signed());
            let left = self.x.max(x);
            let end = (self.x + self.width.cast_signed()).min(right);
            end - left >= 100 && self.y >= y - 10 && self.y <= bottom - 50
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: (i32, i32, u32, u32) = (0, 0, 1920, 1080);

    fn at(x: i32, y: i32) -> Frame {
        Frame { x, y, width: 1000, height: 700, maximized: false }
    }

    #[test]
    fn a_window_of_a_screen_that_is_gone_is_not_put_there() {
        assert!(at(100, 100).is_reachable(&[SCREEN]), "fully on it");
        assert!(at(-800, 0).is_reachable(&[SCREEN]), "enough of the title is left");
        assert!(!at(2000, 100).is_reachable(&[SCREEN]), "the second screen was unplugged");
        assert!(!at(100, 1060).is_reachable(&[SCREEN]), "below the edge nobody can take it");
        assert!(!at(0, 0).is_reachable(&[]), "no screen is known");
    }

    #[test]
    fn nonsense_is_no_frame() {
        let folder = std::env::temp_dir().join(format!("loopkeeper-frame-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let file = folder.join("window.json");
        at(3, 4).save(&file);
        assert_eq!(Frame::load(&file), Some(at(3, 4)), "as it was saved");
        for wrong in ["", "{}", r#"{"x":0,"y":0,"width":1,"height":1,"maximized":false}"#] {
            std::fs::write(&file, wrong).expect("written");
            assert_eq!(Frame::load(&file), None, "{wrong} must not make a window nobody sees");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
