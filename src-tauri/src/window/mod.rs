//! The window: built when it is opened, destroyed when it is closed, and where it was before.

mod answering;
mod frame;

use crate::place::Place;
use crate::platform;
use frame::Frame;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tauri::{
    AppHandle, Manager, PhysicalPosition, PhysicalSize, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder, WindowEvent,
};

/// The label of the one window, as `capabilities/main.json` names it.
pub const LABEL: &str = "main";
/// How long after the start or a window's end memory is given back: what the page held is freed a
/// little later, and what WebKit started last has been there for so long.
const COOLING: Duration = Duration::from_secs(10);

/// The one window.
#[derive(Debug, Clone)]
pub struct Window {
    file: PathBuf,
    frame: Arc<Mutex<Option<Frame>>>,
    /// Held while the window is built, so that two clicks do not build two.
    building: Arc<Mutex<()>>,
    /// Held while somebody is asked about text that was not saved.
    asking: Arc<tokio::sync::Mutex<()>>,
    /// How many windows were built, so that whoever watches one knows when it is another.
    built: Arc<AtomicU64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Window {
    /// Knows where the window's place is remembered.
    pub fn new(file: PathBuf) -> Window {
        let frame = Arc::new(Mutex::new(Frame::load(&file)));
        Window {
            file,
            frame,
            building: Arc::default(),
            asking: Arc::default(),
            built: Arc::default(),
        }
    }

    /// Brings the window to the front at a place, building it when there is none.
    ///
    /// # Errors
    /// What the system refused.
    pub fn open(&self, app: &AppHandle, place: Option<&Place>) -> tauri::Result<()> {
        let _one = lock(&self.building);
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
        let number = self.built.fetch_add(1, Ordering::Relaxed) + 1;
        tauri::async_runtime::spawn(answering::keep_answering(self.clone(), window, number));
        Ok(())
    }

    fn place(&self, window: &WebviewWindow) -> tauri::Result<()> {
        let Some(frame) = *lock(&self.frame) else {
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
            WindowEvent::CloseRequested { api, .. } => {
                self.note(window);
                let frame = *lock(&self.frame);
                if let Some(frame) = frame {
                    frame.save(&self.file);
                }
                api.prevent_close();
                let (me, window) = (self.clone(), window.clone());
                tauri::async_runtime::spawn(async move {
                    if me.may_close(window.app_handle()).await
                        && let Err(error) = window.destroy()
                    {
                        tracing::error!(%error, "the window cannot be closed");
                    }
                });
            }
            WindowEvent::Destroyed => {
                self.cool_down(window.app_handle());
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
        let mut known = lock(&self.frame);
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

    /// Gives memory back after a while, if no window is built until then.
    pub fn cool_down(&self, app: &AppHandle) {
        let (me, app) = (self.clone(), app.clone());
        let number = self.built.load(Ordering::Relaxed);
        tauri::async_runtime::spawn(async move {
            tokio::time::sleep(COOLING).await;
            let _none = lock(&me.building);
            let is_last = me.built.load(Ordering::Relaxed) == number;
            if is_last && app.get_webview_window(LABEL).is_none() {
                platform::give_memory_back();
            }
        });
    }

    /// Says whether the window may go, after asking about text that was not saved.
    pub async fn may_close(&self, app: &AppHandle) -> bool {
        answering::may_close(self, app).await
    }

    /// Returns the address part that the window shows while it has the input focus.
    pub fn focused_at(app: &AppHandle) -> Option<String> {
        let window = app.get_webview_window(LABEL)?;
        let in_front = window.is_focused().ok()? && window.is_visible().ok()?;
        let url = in_front.then(|| window.url().ok()).flatten()?;
        Some(format!("#{}", url.fragment().unwrap_or("/tasks")))
    }
}
