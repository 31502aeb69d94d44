//! Methods that both limiters have, written once.

/// Gives methods to both limiters. Each is written as that of the async one, but for the `.await` of the one expression
/// that is its body; that of the blocking one lacks both `async` and `.await`. The expression calls a method that both
/// have of their own. Methods that are not `async` are the same for both.
macro_rules! both_limiters {
    ($(
        $(#[$meta:meta])*
        pub async fn $name:ident $(<$life:lifetime>)? (
            &$this:ident $(, $argument:ident: $type:ty)* $(,)?
        ) -> $answer:ty { $call:expr }
    )*) => {
        impl $crate::limiter::RateLimiter {
            $(
                $(#[$meta])*
                pub fn $name $(<$life>)? (&$this $(, $argument: $type)*) -> $answer { $call }
            )*
        }

        impl $crate::limiter::AsyncRateLimiter {
            $(
                $(#[$meta])*
                pub async fn $name $(<$life>)? (&$this $(, $argument: $type)*) -> $answer { $call.await }
            )*
        }
    };
    ($(
        $(#[$meta:meta])*
        pub fn $name:ident (&$this:ident $(, $argument:ident: $type:ty)* $(,)?) -> $answer:ty { $result:expr }
    )*) => {
        impl $crate::limiter::RateLimiter {
            $(
                $(#[$meta])*
                pub fn $name(&$this $(, $argument: $type)*) -> $answer { $result }
            )*
        }

        impl $crate::limiter::AsyncRateLimiter {
            $(
                $(#[$meta])*
                pub fn $name(&$this $(, $argument: $type)*) -> $answer { $result }
            )*
        }
    };
}

pub(super) use both_limiters;
