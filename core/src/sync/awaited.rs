//! An answer that several calls wait for.

use std::mem::replace;
use std::task::{Context, Poll, Waker};

use super::lock::Mutex;

/// Comes once. Who waits for it, and no longer wants to, need not say so.
#[derive(Debug)]
pub(crate) struct Awaited<T>(Mutex<State<T>>);

#[derive(Debug)]
enum State<T> {
    /// Those to wake.
    Open(Vec<Waker>),
    Answered(T),
}

impl<T> Default for Awaited<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Open(Vec::new())))
    }
}

impl<T: Clone> Awaited<T> {
    /// Wakes all who wait.
    pub(crate) fn answer(&self, answer: T) {
        let before = replace(&mut *self.0.lock(), State::Answered(answer));
        if let State::Open(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// The answer; until it is there, the context is woken when it comes.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<T> {
        match &mut *self.0.lock() {
            State::Answered(answer) => Poll::Ready(answer.clone()),
            State::Open(wakers) => {
                // A task that is polled again and again is woken once.
                if wakers.last().is_none_or(|last| !last.will_wake(context.waker())) {
                    wakers.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn one_answer_wakes_all_who_wait_once() {
        let (awaited, counts) = (Awaited::default(), [(); 3].map(|()| Arc::<Count>::default()));
        for count in &counts {
            let waker = Waker::from(Arc::clone(count));
            for _ in 0..3 {
                assert_eq!(awaited.poll(&Context::from_waker(&waker)), Poll::Pending);
            }
        }
        awaited.answer(7);
        assert_eq!(counts.map(|count| count.0.load(Ordering::Relaxed)), [1; 3]);
        assert_eq!(awaited.poll(&Context::from_waker(Waker::noop())), Poll::Ready(7));
    }
}
