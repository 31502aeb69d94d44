use sluicegate::ErrorKind;

use super::*;

fn rules() -> Rules {
    let text = r#"[{"rule_id": "r", "algorithm": "gcra", "limit": 10, "window_size_seconds": 60}]"#;
    Rules::from_json(text).unwrap()
}

fn message(spec: &str) -> String {
    let error = Traffic::parse(&[spec], &rules()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.message().to_owned()
}

/// The times and keys of a source all of whose calls get the same answer.
fn calls(spec: &str, admitted: bool, retry_after_us: Option<u64>) -> Vec<(u64, String)> {
    let traffic = Traffic::parse(&[spec], &rules()).unwrap();
    let mut flow = traffic.flows("r", 1, 0).remove(0);
    let mut queue = flow.begin();
    let mut calls = Vec::new();
    while let Some(place) = (0..queue.len()).min_by_key(|place| queue[*place]) {
        let (at, caller) = queue.swap_remove(place);
        calls.push((at, flow.due(caller, at).key.to_owned()));
        let reaction = flow.react(caller, at, CallResult { admitted, retry_after_us });
        queue.extend(reaction.next_us.map(|next| (next, caller)));
    }
    calls
}

#[test]
fn misspelt_words_name_the_nearest() {
    assert_eq!(
        message("poison:rate=1/s"),
        r#"traffic "poison:rate=1/s": word "poison" is not known; did you mean "poisson"?"#
    );
    assert_eq!(
        message("steady:rats=1/s"),
        r#"traffic "steady:rats=1/s": field "rats" is not known; did you mean "rate"?"#
    );
    assert_eq!(
        message("steady:rate=fast"),
        r#"traffic "steady:rate=fast": field "rate" is "fast"; it has to be a rate above zero, as in 100/s or 20/30s"#
    );
    assert_eq!(
        message("steady:rule=x"),
        r#"traffic "steady:rule=x": no rule is called "x"; did you mean "r"?"#
    );
    assert!(message("steady:rate").contains("has no value"));
    assert!(message("steady:keys=1,keys=2").contains("stands twice"));
    assert!(message("steady:size=2").contains("field \"size\" is not known"));
}

#[test]
fn what_is_left_open_follows_the_first_rule() {
    let traffic = Traffic::parse(&["steady"], &rules()).unwrap();
    assert_eq!(traffic.length_us(), 600_000_000);
    assert_eq!(calls("steady", true, None).len(), 200);
    assert_eq!(calls("burst", true, None).len(), 200);
    assert_eq!(calls("edge:for=121s", true, None).len(), 20);
}

#[test]
fn a_herd_has_every_key_once_at_a_time() {
    let herd = calls("herd:keys=5,every=10s,for=20s", true, None);
    let mut keys: Vec<_> = herd[..5].iter().map(|call| call.1.clone()).collect();
    keys.sort();
    assert_eq!(keys, ["key-0", "key-1", "key-2", "key-3", "key-4"]);
    assert_eq!(herd.len(), 10);
}

#[test]
fn greedy_clients_retry_at_once_and_obedient_ones_wait() {
    let denied = Some(1_000_000);
    let greedy = calls("greedy:for=10s,pause=10ms", false, denied);
    assert!((995..=1000).contains(&greedy.len()), "{}", greedy.len());
    let obedient = calls("obedient:for=10s,rate=100/s", false, denied);
    assert_eq!(obedient.len(), 10);
    assert!(obedient.windows(2).all(|two| two[1].0 == two[0].0 + 1_000_000));
}

#[test]
fn a_cost_that_never_fits_is_given_up() {
    assert!(calls("obedient:for=10s,rate=10/s", false, None).len() > 50);
}

#[test]
fn keys_in_turn_change_with_every_admitted_call() {
    let turns = calls("greedy:for=100ms,pause=10ms,keys=3,clients=1,pick=turn,name=user", true, None);
    assert_eq!(turns[3].1, turns[0].1);
    assert_ne!(turns[1].1, turns[0].1);
    assert!(
        calls("greedy:for=1s,keys=3,clients=1,pick=turn", false, None).iter().all(|call| call.1 == "key-0")
    );
}

#[test]
fn given_calls_come_in_order_of_time() {
    let call = |at_us, key: &str| Call { at_us, key: key.to_owned(), cost: 1, duration_us: None };
    let traffic = Traffic::given([call(5, "b"), call(3, "a"), call(5, "a")]);
    let mut flow = traffic.flows("r", 1, 0).remove(0);
    let mut keys = Vec::new();
    while let Some((at, _)) = flow.begin().first() {
        keys.push((*at, flow.due(0, *at).key));
    }
    assert_eq!(keys, [(3, "a"), (5, "b"), (5, "a")]);
    assert_eq!(traffic.length_us(), 6);
}
