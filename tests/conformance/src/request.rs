//! The requests of vectors.

use serde_json::Value;
use sluicegate::Request;

/// What a vector says of a request.
pub fn request_of(fields: &Value) -> Request<'_> {
    let mut request = Request::new(fields["method"].as_str().unwrap(), fields["path"].as_str().unwrap());
    request.user_id = fields["user_id"].as_str();
    request.ip = fields["ip"].as_str();
    request.api_key = fields["api_key"].as_str();
    request.api_key_header = fields["api_key_header"].as_str();
    request.ignore_case = fields["ignore_case"].as_bool().unwrap_or_default();
    if let Some(paths) = fields["other_paths"].as_array() {
        request.other_paths = paths.iter().map(|path| path.as_str().unwrap()).collect();
    }
    if let Some(headers) = fields["headers"].as_array() {
        request.headers =
            headers.iter().map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap())).collect();
    }
    request
}
