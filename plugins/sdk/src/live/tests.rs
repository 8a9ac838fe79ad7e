use crate::{
    Access, Call, CallError, Cx, Error, Feature, Module, Phase, Reply, Settings, Value, json, testing::Holder,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Counts words; every rule of the SDK can be broken with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Words {
    // No order of its own: the SDK must give the bytes one.
    counts: HashMap<String, u32>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    most: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { most: 3 }
    }
}

#[derive(Deserialize)]
struct Word {
    word: String,
}

type Moment<'a> = Cx<'a, Params>;
type Outcome = Result<Reply, CallError>;

impl Words {
    fn count(&mut self, cx: &Moment<'_>, Word { word }: Word) -> Outcome {
        let count = self.counts.entry(word).or_default();
        *count += 1;
        // Found out too late, on purpose: the SDK has to take the change back.
        match *count > cx.settings.params.most {
            true => Err(CallError::refused("too often")),
            false => Ok(Reply::json(count)),
        }
    }

    fn look(&self, _: &Moment<'_>, Word { word }: Word) -> Outcome {
        Ok(Reply::json(&self.counts.get(&word)))
    }

    fn check_clear(&self, cx: &Moment<'_>, _: Value) -> Outcome {
        assert_eq!(cx.phase, Phase::Declare);
        Ok(Reply::text(format!("{} words will go", self.counts.len())))
    }

    fn clear(&mut self, cx: &Moment<'_>, _: Value) -> Outcome {
        assert_eq!((cx.phase, cx.access), (Phase::Apply, Access::ReadWrite));
        self.counts.clear();
        Ok(Reply::text("gone").notify("all words are gone"))
    }
}

impl Module for Words {
    const KIND: &'static str = "words";
    const TITLE: &'static str = "Words";
    const STATE_FORMAT: &'static str = "test.words/1";
    type Params = Params;

    fn features() -> Vec<Feature> {
        vec![Feature { name: "clearing", description: "Offers clear.", enabled: true }]
    }

    fn calls() -> Vec<Call<Self>> {
        let schema = || json!({"type": "object"});
        vec![
            Call::acting("count", "Counts a word.", schema, Self::count),
            Call::read_only("look", "Says how often.", schema, Self::look),
            Call::deferred("clear", "Forgets all.", schema, Self::check_clear, Self::clear)
                .only_with("clearing"),
        ]
    }

    fn check(settings: &Settings<Params>) -> Result<(), String> {
        match settings.params.most {
            0 => Err("`most` of 0 counts nothing".into()),
            _ => Ok(()),
        }
    }

    fn transferred(&mut self, settings: &Settings<Params>) -> Result<(), Error> {
        self.counts.insert("transfers".into(), 1);
        match settings.params.most {
            13 => Err(Error::Other("thirteen".into())),
            _ => Ok(()),
        }
    }
}

fn words() -> Holder<Words> {
    Holder::open(json!({})).unwrap()
}

fn count(words: &mut Holder<Words>, word: &str) -> Outcome {
    words.call("count", json!({"word": word}))
}

#[test]
fn a_call_that_refuses_changes_nothing() {
    let mut words = words();
    for n in 1..=3 {
        assert_eq!(count(&mut words, "a"), Ok(Reply::json(&n)));
    }
    // `Holder::call` compares the bytes before and after an error.
    assert_eq!(count(&mut words, "a"), Err(CallError::refused("too often")));
    assert_eq!(words.call("look", json!({"word": "a"})), Ok(Reply::json(&3)));
}

#[test]
fn equal_states_have_equal_bytes_with_all_settings_written_out() {
    let (mut one, mut other) = (words(), Holder::<Words>::open(json!({"params": {"most": 3}})).unwrap());
    let all = ["x", "a", "m", "b", "q", "c"];
    for word in all {
        count(&mut one, word).unwrap();
    }
    for word in all.into_iter().rev() {
        count(&mut other, word).unwrap();
    }
    assert_eq!(
        String::from_utf8(one.bytes()).unwrap(),
        "{\"format\":\"test.words/1\",\"settings\":{\"features\":{\"clearing\":true},\"params\":{\"most\":3}}}\n\
         {\"counts\":{\"a\":1,\"b\":1,\"c\":1,\"m\":1,\"q\":1,\"x\":1}}"
    );
    assert_eq!(one.bytes(), other.bytes());
}

#[test]
fn settings_come_back_with_the_state() {
    let mut words = Holder::<Words>::open(json!({"params": {"most": 1}})).unwrap();
    count(&mut words, "a").unwrap();
    let mut copy = Holder::<Words>::restore(&words.bytes()).unwrap();
    assert_eq!(count(&mut copy, "a"), Err(CallError::refused("too often")));
}

#[test]
fn settings_that_cannot_be_honoured_are_refused() {
    for (settings, why) in [
        (json!({"params": {"most": 0}}), "`most` of 0 counts nothing"),
        (json!({"params": {"least": 0}}), "unknown field `least`, expected `most`"),
        (json!({"features": {"flying": true}}), "there is no feature `flying`"),
        (json!([]), "invalid type: sequence, expected a map"),
    ] {
        match Holder::<Words>::open(settings.clone()) {
            Err(Error::Settings(said)) => assert!(said.starts_with(why), "{settings}: {said}"),
            Err(other) => panic!("{settings}: {other:?}"),
            Ok(_) => panic!("accepted: {settings}"),
        }
    }
}

#[test]
fn a_transfer_that_fails_changes_nothing() {
    let mut words = words();
    count(&mut words, "a").unwrap();
    let before = words.bytes();
    assert_eq!(words.live.transfer(r#"{"params": {"most": 13}}"#), Err(Error::Other("thirteen".into())));
    assert_eq!(words.bytes(), before);
    words.live.transfer(r#"{"params": {"most": 9}}"#).unwrap();
    words.check_round_trip();
    assert_eq!(words.call("look", json!({"word": "transfers"})), Ok(Reply::json(&1)));
}

#[test]
fn a_deferred_call_is_checked_then_applied() {
    let mut words = words();
    count(&mut words, "a").unwrap();
    let before = words.bytes();
    assert_eq!(words.declare("clear", json!({})), Ok(Reply::text("1 words will go")));
    assert_eq!(words.bytes(), before);
    assert!(matches!(words.call("clear", json!({})), Err(CallError::Failed(_))), "never at once");
    assert_eq!(words.apply("clear", json!({})), Ok(Reply::text("gone").notify("all words are gone")));
    assert_eq!(words.bytes(), self::words().bytes());
}

#[test]
fn a_feature_that_is_off_withholds_its_calls() {
    let mut words = Holder::<Words>::open(json!({"features": {"clearing": false}})).unwrap();
    assert_eq!(
        words.declare("clear", json!({})),
        Err(CallError::refused("`clear` is not available: the feature `clearing` is off."))
    );
}

#[test]
fn an_access_that_is_not_known_only_reads() {
    let mut words = words();
    words.context.access = "somehow".into();
    assert!(
        matches!(count(&mut words, "a"), Err(CallError::Refused(why)) if why.starts_with("You may only read"))
    );
    assert_eq!(words.call("look", json!({"word": "a"})), Ok(Reply::json(&Value::Null)));
}

#[test]
fn what_does_not_exist_or_fit_is_refused_with_what_does() {
    let mut words = words();
    assert_eq!(
        words.call("cuont", json!({})),
        Err(CallError::refused("There is no `cuont` here, but count, look, clear."))
    );
    assert!(matches!(
        words.call("count", json!({"word": 3})),
        Err(CallError::Refused(why)) if why.contains("expected a string")
    ));
}
