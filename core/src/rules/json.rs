//! A JSON value that keeps what `serde_json::Value` loses: a field that is stated twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::text::words::{quote, shorten};

#[derive(Debug)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// The largest whole number that a double (so Lua, JavaScript and JSON elsewhere) holds exactly,
/// together with all smaller ones.
pub(super) const MAX_WHOLE: i64 = (1 << 53) - 1;

/// A program that turns on serde_json's `arbitrary_precision` does so for every crate in it, and
/// then a number arrives as an object with this one field.
const NUMBER_FIELD: &str = "$serde_json::private::Number";

impl Json {
    pub(super) fn flag(&self) -> Option<bool> {
        if let Self::Bool(flag) = self { Some(*flag) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    /// A whole number however it is written: `1000`, `1000.0` and `1e3` are the same in JSON.
    pub(super) fn whole(&self, least: i64, most: i64) -> Option<i64> {
        let number = self.number()?;
        // Exact: the bounds that callers give are within 2^53.
        let fits = number.fract() == 0.0 && number >= least as f64 && number <= most as f64;
        fits.then_some(number as i64)
    }

    pub(super) fn array(&self) -> Option<&[Json]> {
        if let Self::Array(values) = self { Some(values) } else { None }
    }

    pub(super) fn object(&self) -> Option<&[(String, Json)]> {
        if let Self::Object(fields) = self { Some(fields) } else { None }
    }

    /// For a message: short, on one line.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(flag) => flag.to_string(),
            Self::Number(number) => shorten(&number.to_string()),
            Self::Text(text) => quote(text),
            Self::Array(values) if values.is_empty() => "an empty array".into(),
            Self::Array(_) => "an array".into(),
            Self::Object(_) => "an object".into(),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut fields: Vec<(String, Json)> = Vec::new();
        while let Some(field) = items.next_entry()? {
            fields.push(field);
        }
        if let [(name, Json::Text(digits))] = fields.as_slice()
            && name == NUMBER_FIELD
            && let Ok(number) = digits.parse()
        {
            return Ok(Json::Number(number));
        }
        Ok(Json::Object(fields))
    }
}
