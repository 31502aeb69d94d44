//! What a caller asks for.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ptr::{NonNull, null};
use std::time::Duration;

use sluicegate::Check;

use crate::argument::{Argument, Bytes, Growing, array, growing, optional_bytes};
use crate::decision::Decision;
use crate::error::Failure;

/// Options of one check. Begin with SLUICEGATE_CHECK_OPTIONS_INIT and set what you need.
#[repr(C)]
pub struct CheckOptions {
    /// The size of this struct as the caller knows it; later releases may add fields at the end.
    pub size: usize,
    /// How much to admit: at least 1, which is the default.
    pub cost: u64,
    /// The resource that is used, in UTF-8; needed by rules with a limit of scope "resource", and only
    /// by them. NULL: none.
    pub resource: *const c_void,
    /// The length of the resource in bytes.
    pub resource_len: usize,
    /// Takes the place of the rule's single limit for this one call, for plans and tiers. NULL: the
    /// limit that the rule states.
    pub limit: *const u64,
    /// The whole time that the call may take in microseconds, from 1000 to 3,600,000,000: to wait for a
    /// connection, to connect, to find the server and to be answered. Of several items the shortest counts. In
    /// sluicegate_wait it bounds each try. 0: connect_timeout_us and response_timeout_us together.
    pub timeout_us: u64,
    /// Makes the call safe to repeat: 1 to 64 bytes, in UTF-8, that name it among those of the same rule and key.
    /// Later calls with the same id get the answer of the first and charge nothing, for as long as request_id_seconds
    /// says; and after a timeout or a broken connection the limiter repeats the call by itself, within its time. For
    /// sluicegate_check, sluicegate_charge and sluicegate_refund. NULL: none.
    pub request_id: *const c_void,
    /// The length of the id in bytes.
    pub request_id_len: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            cost: 1,
            resource: null(),
            resource_len: 0,
            limit: null(),
            timeout_us: 0,
            request_id: null(),
            request_id_len: 0,
        }
    }
}

// SAFETY: it begins with its size; the rest are numbers and pointers.
unsafe impl Growing for CheckOptions {
    const SIZES: &'static [usize] =
        &[offset_of!(Self, timeout_us), offset_of!(Self, request_id), size_of::<Self>()];
}

/// The time of a call; 0: by default.
pub(crate) fn timeout(us: u64) -> Option<Duration> {
    (us != 0).then(|| Duration::from_micros(us))
}

/// One item of sluicegate_check_all and sluicegate_wait_all: what the other functions take as arguments.
#[repr(C)]
pub struct Item {
    /// The rule's name.
    pub rule: *const c_char,
    /// Who is counted, in UTF-8.
    pub key: *const c_void,
    /// The length of the key in bytes.
    pub key_len: usize,
    /// Cost, resource, limit and timeout; NULL for the defaults.
    pub options: *const CheckOptions,
}

impl<'a> Argument<'a> for *const CheckOptions {
    type Received = sluicegate::CheckOptions<'a>;

    unsafe fn receive(self, name: &'static str) -> Result<Self::Received, Failure> {
        // SAFETY: promised by the caller, also for what the fields point to.
        unsafe {
            let given = growing(self, name)?;
            let mut options = sluicegate::CheckOptions::new().cost(given.cost);
            options.resource = optional_bytes(given.resource, given.resource_len, "options.resource")?;
            options.limit = given.limit.as_ref().copied();
            options.timeout = timeout(given.timeout_us);
            options.request_id =
                optional_bytes(given.request_id, given.request_id_len, "options.request_id")?;
            Ok(options)
        }
    }
}

impl Item {
    /// # Safety
    /// As [`Argument::receive`], for what the fields point to.
    unsafe fn receive<'a>(&self) -> Result<Check<'a>, Failure> {
        // SAFETY: promised by the caller.
        unsafe {
            let key: Bytes<'a> = self.key.receive("key")?;
            let check = Check::new(self.rule.receive("rule")?, key.text(self.key_len)?);
            Ok(check.with(self.options.receive("options")?))
        }
    }
}

/// Items of which the count is the next argument.
pub(crate) struct Items<'a> {
    start: *const Item,
    lifetime: PhantomData<&'a Item>,
}

impl<'a> Argument<'a> for *const Item {
    type Received = Items<'a>;

    unsafe fn receive(self, _: &'static str) -> Result<Items<'a>, Failure> {
        Ok(Items { start: self, lifetime: PhantomData })
    }
}

impl<'a> Items<'a> {
    /// The checks, given the count that came with them.
    pub(crate) fn checks(self, count: usize) -> Result<Vec<Check<'a>>, Failure> {
        // SAFETY: promised when the argument was received.
        let items = unsafe { array(self.start, count, "items") }?;
        let check = |(at, item): (usize, &Item)| {
            // SAFETY: as above.
            unsafe { item.receive() }.map_err(|failure| failure.within(&format!("items[{at}].")))
        };
        items.iter().enumerate().map(check).collect()
    }
}

/// Room for decisions, if wanted.
pub(crate) struct DecisionBuffer<'a> {
    start: Option<NonNull<Decision>>,
    lifetime: PhantomData<&'a mut Decision>,
}

impl<'a> Argument<'a> for Option<NonNull<Decision>> {
    type Received = DecisionBuffer<'a>;

    unsafe fn receive(self, _: &'static str) -> Result<DecisionBuffer<'a>, Failure> {
        Ok(DecisionBuffer { start: self, lifetime: PhantomData })
    }
}

impl DecisionBuffer<'_> {
    /// Writes the parts for which there is room, and returns how many.
    pub(crate) fn write(self, parts: &[sluicegate::Decision], room: usize) -> usize {
        let Some(start) = self.start else { return 0 };
        for (at, part) in parts.iter().take(room).enumerate() {
            // SAFETY: promised when the argument was received.
            unsafe { start.add(at).write(Decision::from(part)) };
        }
        parts.len().min(room)
    }
}

/// Where a number or a flag goes, if wanted.
pub(crate) struct OutParam<'a, T> {
    place: Option<NonNull<T>>,
    lifetime: PhantomData<&'a mut T>,
}

/// What a caller may not want to know.
pub(crate) trait Unimportant {}

impl Unimportant for bool {}
impl Unimportant for u64 {}
impl Unimportant for usize {}

impl<'a, T: Unimportant + 'a> Argument<'a> for Option<NonNull<T>> {
    type Received = OutParam<'a, T>;

    unsafe fn receive(self, _: &'static str) -> Result<OutParam<'a, T>, Failure> {
        Ok(OutParam { place: self, lifetime: PhantomData })
    }
}

impl<T> OutParam<'_, T> {
    pub(crate) fn write(self, answer: T) {
        if let Some(place) = self.place {
            // SAFETY: promised when the argument was received.
            unsafe { place.write(answer) };
        }
    }
}
