//! The body of a response, the service's or the limiter's.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::flight::Flight;

pin_project! {
    /// The body of a response. What was reserved for the request is held until it is over, or dropped.
    pub struct ResponseBody<B> {
        // None where the request did not get to the service.
        #[pin]
        inner: Option<B>,
        // The response to such a request.
        text: String,
        flight: Option<Flight>,
    }
}

impl<B> ResponseBody<B> {
    /// That of the service.
    pub(super) fn new(inner: B, flight: Option<Flight>) -> Self {
        Self { inner: Some(inner), text: String::new(), flight }
    }

    /// That of a response in its place.
    pub(super) fn of_text(text: String) -> Self {
        Self { inner: None, text, flight: None }
    }
}

impl<B: Body> Body for ResponseBody<B>
where
    B::Data: From<String>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let Some(mut inner) = this.inner.as_mut().as_pin_mut() else {
            let text = mem::take(this.text);
            return Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text.into()))));
        };
        let frame = inner.as_mut().poll_frame(context);
        let is_over = match &frame {
            Poll::Ready(Some(Ok(_))) => inner.is_end_stream(),
            Poll::Ready(_) => true,
            Poll::Pending => false,
        };
        if is_over {
            this.flight.take();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().map_or(self.text.is_empty(), Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(self.text.len() as u64), Body::size_hint)
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("holds", &self.flight.is_some()).finish_non_exhaustive()
    }
}
