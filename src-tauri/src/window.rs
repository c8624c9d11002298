//! The window: built when it is opened, destroyed when it is closed, and where it was before.

use crate::place::Place;
use crate::platform;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tauri::{
    AppHandle, Manager, PhysicalPosition, PhysicalSize, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder, WindowEvent,
};

/// The label of the one window, as `capabilities/main.json` names it.
pub const LABEL: &str = "main";
/// How often the page is asked whether it still answers, and how often it may fail to.
const ASK_EVERY: Duration = Duration::from_secs(15);
const STRIKES: u32 = 2;

/// Where the window was, in physical pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    x: i32,
    y: i32,
    width: u32,
    height: u32,
    maximized: bool,
}

impl Frame {
    /// Reads where the window was; `None` when that is not known or makes no sense.
    fn load(file: &Path) -> Option<Frame> {
        let frame: Frame = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        ((200..20_000).contains(&frame.width) && (150..20_000).contains(&frame.height))
            .then_some(frame)
    }

    fn save(&self, file: &Path) {
        let Ok(text) = serde_json::to_string(self) else { return };
        let new = file.with_extension("json.new");
        let saved = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, file));
        if let Err(error) = saved {
            tracing::warn!(file = %file.display(), %error, "the window's place is not remembered");
        }
    }

    /// Says whether enough of the title lies on a screen (x, y, width, height) to be taken hold of.
    fn is_reachable(&self, screens: &[(i32, i32, u32, u32)]) -> bool {
        screens.iter().any(|&(x, y, width, height)| {
            let (right, bottom) = (x + width.cast_signed(), y + height.cast_signed());
            let left = self.x.max(x);
            let end = (self.x + self.width.cast_signed()).min(right);
            end - left >= 100 && self.y >= y - 10 && self.y <= bottom - 50
        })
    }
}

/// The one window.
#[derive(Debug, Clone)]
pub struct Window {
    file: PathBuf,
    frame: Arc<Mutex<Option<Frame>>>,
    /// Held while the window is built, so that two clicks do not build two.
    building: Arc<Mutex<()>>,
}

impl Window {
    /// Knows where the window's place is remembered.
    pub fn new(file: PathBuf) -> Window {
        let frame = Arc::new(Mutex::new(Frame::load(&file)));
        Window { file, frame, building: Arc::default() }
    }

    /// Brings the window to the front at a place, building it when there is none.
    ///
    /// # Errors
    /// What the system refused.
    pub fn open(&self, app: &AppHandle, place: Option<&Place>) -> tauri::Result<()> {
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = app.get_webview_window(LABEL) {
            if let Some(place) = place {
                let hash = serde_json::to_string(&place.hash())?;
                window.eval(format!("location.hash = {hash}"))?;
            }
            window.unminimize()?;
            window.show()?;
            return window.set_focus();
        }
        let page = place
            .map_or_else(|| "index.html".into(), |place| format!("index.html{}", place.hash()));
        self.build(app, page)
    }

    fn build(&self, app: &AppHandle, page: String) -> tauri::Result<()> {
        let window = WebviewWindowBuilder::new(app, LABEL, WebviewUrl::App(page.into()))
            .title("Loopkeeper")
            .inner_size(1120.0, 760.0)
            .min_inner_size(640.0, 420.0)
            .visible(false)
            // Nothing but the program's own page is ever shown.
            .on_navigation(|url| {
                matches!(url.scheme(), "tauri")
                    || url.host_str() == Some("tauri.localhost")
                    || (cfg!(debug_assertions) && url.host_str() == Some("localhost"))
            })
            .build()?;
        self.place(&window)?;
        window.show()?;
        window.set_focus()?;
        let me = self.clone();
        let watched = window.clone();
        window.on_window_event(move |event| me.happened(&watched, event));
        tauri::async_runtime::spawn(keep_answering(self.clone(), window));
        Ok(())
    }

    fn place(&self, window: &WebviewWindow) -> tauri::Result<()> {
        let Some(frame) = *self.frame.lock().unwrap_or_else(PoisonError::into_inner) else {
            return Ok(());
        };
        window.set_size(PhysicalSize::new(frame.width, frame.height))?;
        let screens: Vec<_> = window
            .available_monitors()?
            .iter()
            .map(|screen| {
                let (at, size) = (screen.position(), screen.size());
                (at.x, at.y, size.width, size.height)
            })
            .collect();
        if frame.is_reachable(&screens) {
            window.set_position(PhysicalPosition::new(frame.x, frame.y))?;
        }
        if frame.maximized { window.maximize() } else { Ok(()) }
    }

    fn happened(&self, window: &WebviewWindow, event: &WindowEvent) {
        match event {
            WindowEvent::Resized(_) | WindowEvent::Moved(_) => self.note(window),
            WindowEvent::CloseRequested { .. } => {
                self.note(window);
                let frame = *self.frame.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(frame) = frame {
                    frame.save(&self.file);
                }
            }
            WindowEvent::Destroyed => {
                // What the page held is freed a little later, so that is waited for.
                tauri::async_runtime::spawn(async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    platform::give_memory_back();
                });
            }
            _ => {}
        }
    }

    fn note(&self, window: &WebviewWindow) {
        let (Ok(at), Ok(size), Ok(maximized), Ok(minimized)) = (
            window.outer_position(),
            window.inner_size(),
            window.is_maximized(),
            window.is_minimized(),
        ) else {
            return;
        };
        let mut known = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        if minimized || size.width == 0 {
            return;
        }
        match &mut *known {
            // The size to go back to stays while it is maximized.
            Some(frame) if maximized => frame.maximized = true,
            known => {
                let (width, height) = (size.width, size.height);
                *known = Some(Frame { x: at.x, y: at.y, width, height, maximized });
            }
        }
    }

    /// Returns the address part that the window shows while it has the input focus.
    pub fn focused_at(app: &AppHandle) -> Option<String> {
        let window = app.get_webview_window(LABEL)?;
        let in_front = window.is_focused().ok()? && window.is_visible().ok()?;
        let url = in_front.then(|| window.url().ok()).flatten()?;
        Some(format!("#{}", url.fragment().unwrap_or("/tasks")))
    }
}

/// Asks the page now and then whether it answers; a page that does not is built anew where it was.
async fn keep_answering(me: Window, window: WebviewWindow) {
    let app = window.app_handle().clone();
    let mut strikes = 0;
    loop {
        tokio::time::sleep(ASK_EVERY).await;
        if app.get_webview_window(LABEL).is_none() {
            return;
        }
        let (told, hears) = tokio::sync::oneshot::channel();
        let told = Mutex::new(Some(told));
        let asked = window.eval_with_callback("1", move |answer| {
            if let Some(told) = told.lock().unwrap_or_else(PoisonError::into_inner).take() {
                let _ = told.send(answer);
            }
        });
        let answer = tokio::time::timeout(ASK_EVERY, hears).await;
        match (asked, answer) {
            (Ok(()), Ok(Ok(answer))) if answer.trim() == "1" => {
                strikes = 0;
                continue;
            }
            // An empty answer is that of a process that is gone.
            (Ok(()), Ok(Ok(_))) => strikes = STRIKES,
            _ => strikes += 1,
        }
        if app.get_webview_window(LABEL).is_none() {
            return;
        }
        if strikes < STRIKES {
            continue;
        }
        tracing::warn!("the window's page does not answer; it is built anew");
        let fragment = window.url().ok().and_then(|url| url.fragment().map(str::to_owned));
        me.note(&window);
        if window.destroy().is_err() {
            return;
        }
        // The label is free once the destruction came through.
        for _ in 0..100 {
            if app.get_webview_window(LABEL).is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let page = match fragment {
            Some(fragment) => format!("index.html#{fragment}"),
            None => "index.html".to_owned(),
        };
        let _one = me.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = me.build(&app, page) {
            tracing::error!(%error, "the window cannot be built anew");
        }
        return;
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
