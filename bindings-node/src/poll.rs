//! Watches a socket on the loop of JavaScript.
//!
//! Node-API has nothing for that, but it hands out the loop, which is one of libuv, and Node exports libuv's
//! functions. They are looked up when they are needed: where they are missing, nothing can be watched.
//!
//! Everything here happens on the thread of the loop. A handle of libuv must stay where it is until libuv says
//! that it is closed, and it must be closed before its environment ends.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute_copy;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::{Rc, Weak};
use std::sync::OnceLock;

use napi::{Env, sys};

use crate::shared::Shared;
use crate::wake::Wake;

/// The number of the kind `uv_poll_t`.
const UV_POLL: c_int = 8;
const UV_READABLE: c_int = 1;

type Handle = *mut c_void;
type Polled = unsafe extern "C" fn(Handle, c_int, c_int);
type Closed = unsafe extern "C" fn(Handle);

/// The functions of libuv, as `uv.h` declares them.
struct Uv {
    handle_size: unsafe extern "C" fn(c_int) -> usize,
    set_data: unsafe extern "C" fn(Handle, *mut c_void),
    get_data: unsafe extern "C" fn(Handle) -> *mut c_void,
    poll_init: unsafe extern "C" fn(*mut sys::uv_loop_s, Handle, c_int) -> c_int,
    poll_start: unsafe extern "C" fn(Handle, c_int, Polled) -> c_int,
    unref: unsafe extern "C" fn(Handle),
    close: unsafe extern "C" fn(Handle, Closed),
}

/// A socket that is watched as long as this lives. Of itself it does not keep the process alive.
pub(crate) struct Poll(Rc<Watched>);

/// What a handle of libuv leads to. Libuv has a share of it until the handle is closed.
struct Watched {
    /// The handle, in units that are aligned as any handle may have to be. Libuv writes to it at any time.
    memory: Box<[UnsafeCell<u128>]>,
    limiter: Weak<Shared>,
    env: Env,
    wake: Wake,
    /// Ends the environment only after the handle is closed.
    hook: Cell<sys::napi_async_cleanup_hook_handle>,
    is_closing: Cell<bool>,
}

/// Whether sockets can be watched here.
pub(crate) fn is_possible() -> bool {
    Uv::get().is_some()
}

impl Poll {
    /// Begins to watch; nothing where that is not possible.
    #[allow(unsafe_code)]
    pub(crate) fn new(env: &Env, socket: i32, limiter: &Rc<Shared>, wake: &Wake) -> Option<Self> {
        let uv = Uv::get()?;
        let mut uv_loop = null_mut();
        // SAFETY: this is the thread of the environment. The handle has the size that libuv asks for, and
        // stays where it is, until `closed`; only then the share of libuv is given back. The socket is open
        // as long as it is watched: `Bridge::end_socket` comes later.
        unsafe {
            if sys::napi_get_uv_event_loop(env.raw(), &raw mut uv_loop) != sys::Status::napi_ok {
                return None;
            }
            let units = (uv.handle_size)(UV_POLL).div_ceil(size_of::<u128>());
            let watched = Rc::new(Watched {
                memory: (0..units).map(|_| UnsafeCell::new(0)).collect(),
                limiter: Rc::downgrade(limiter),
                env: *env,
                wake: wake.clone(),
                hook: Cell::new(null_mut()),
                is_closing: Cell::new(false),
            });
            if (uv.poll_init)(uv_loop, watched.handle(), socket) != 0 {
                return None;
            }
            limiter.has_handle.set(true);
            (uv.set_data)(watched.handle(), Rc::into_raw(Rc::clone(&watched)).cast_mut().cast());
            let poll = Self(watched);
            (uv.unref)(poll.0.handle());
            let (watched, hook) = (Rc::as_ptr(&poll.0).cast_mut().cast(), poll.0.hook.as_ptr());
            let is_guarded = sys::napi_add_async_cleanup_hook(env.raw(), Some(ending), watched, hook);
            let is_watched = is_guarded == sys::Status::napi_ok
                && (uv.poll_start)(poll.0.handle(), UV_READABLE, polled) == 0;
            is_watched.then_some(poll)
        }
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Watched {
    fn handle(&self) -> Handle {
        UnsafeCell::raw_get(self.memory.as_ptr()).cast()
    }

    /// Watches no longer.
    #[allow(unsafe_code)]
    fn close(&self) {
        if let (false, Some(uv)) = (self.is_closing.replace(true), Uv::get()) {
            // SAFETY: the handle is open: it is closed once.
            unsafe { (uv.close)(self.handle(), closed) };
        }
    }

    /// Tells whoever closed the limiter that libuv has no more use for the handle.
    fn tell_closed(&self) {
        if let Some(limiter) = self.limiter.upgrade() {
            limiter.has_handle.set(false);
            self.wake.call();
        }
    }
}

/// Called by libuv when there is something to read.
#[allow(unsafe_code)]
unsafe extern "C" fn polled(handle: Handle, _status: c_int, _events: c_int) {
    let Some(uv) = Uv::get() else { return };
    // SAFETY: libuv's share, which `closed` gives back: never before this returns.
    let watched = unsafe { &*(uv.get_data)(handle).cast::<Watched>() };
    // A panic must not leave Rust.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(limiter) = watched.limiter.upgrade() {
            limiter.bridge.read_socket();
            // At once: to be woken for it would take another turn of the loop.
            limiter.fetch.call(&watched.env);
        }
    }));
}

/// Called by Node-API when the environment is about to end, unless the handle was closed before.
#[allow(unsafe_code)]
unsafe extern "C" fn ending(_hook: sys::napi_async_cleanup_hook_handle, watched: *mut c_void) {
    // SAFETY: libuv has its share of it until `closed`, which removes this hook.
    unsafe { &*watched.cast::<Watched>() }.close();
}

/// Called by libuv when it does not need the handle any more.
#[allow(unsafe_code)]
unsafe extern "C" fn closed(handle: Handle) {
    let Some(uv) = Uv::get() else { return };
    // SAFETY: it is the share that libuv was given, and libuv makes no use of it after this call. The hook was
    // added by `Poll::new`, or is null, and is removed once; an environment that waits for it may end then.
    unsafe {
        let watched = Rc::from_raw((uv.get_data)(handle).cast::<Watched>());
        let hook = watched.hook.get();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            watched.tell_closed();
            drop(watched);
        }));
        if !hook.is_null() {
            sys::napi_remove_async_cleanup_hook(hook);
        }
    }
}

impl Uv {
    fn get() -> Option<&'static Self> {
        static UV: OnceLock<Option<Uv>> = OnceLock::new();
        UV.get_or_init(Self::find).as_ref()
    }

    #[allow(unsafe_code)]
    fn find() -> Option<Self> {
        // SAFETY: these are the types of the functions of these names, in all releases of libuv 1.
        unsafe {
            Some(Self {
                handle_size: function(c"uv_handle_size")?,
                set_data: function(c"uv_handle_set_data")?,
                get_data: function(c"uv_handle_get_data")?,
                poll_init: function(c"uv_poll_init")?,
                poll_start: function(c"uv_poll_start")?,
                unref: function(c"uv_unref")?,
                close: function(c"uv_close")?,
            })
        }
    }
}

/// A function that the process has loaded.
///
/// # Safety
/// `F` is the type of the function of that name.
#[allow(unsafe_code)]
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name is a C string; a pointer to a function is as large as any other.
    unsafe {
        let address = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        if address.is_null() { None } else { Some(transmute_copy(&address)) }
    }
}
