//! What adds to the bound of a limit, by as much as is stated.

use std::time::Duration;

use sluicegate::{Check, Decision, ManualClock, RateLimiter, Rules, Source};
use sluicegate_test_servers::Redis;

use super::{RULES, World, admitted, soon};

/// While some processes know of a region that others do not, a key that it takes over has two regions in charge.
#[test]
fn two_maps_at_once_add_one_full_bound() {
    let servers = ["ap", "eu", "us"].map(|name| (name, Redis::start().unwrap()));
    let limiter = |regions: usize, region: &str| {
        let urls = servers[..regions].iter().map(|(name, server)| (*name, server.url().to_owned()));
        let builder = RateLimiter::builder("").rules(Rules::from_json(RULES).unwrap()).regions(urls);
        builder.region(region).build().unwrap()
    };
    let limiters = [limiter(2, "ap"), limiter(3, "ap"), limiter(2, "eu"), limiter(3, "eu"), limiter(3, "us")];
    for rule in ["all", "bucket"] {
        let mut seen = [0, 0];
        for key in (0..12).map(|number| format!("user-{number}")) {
            let each = limiters.iter().map(|limiter| admitted(limiter, rule, &key, 11));
            match each.sum() {
                10 => seen[0] += 1,
                20 => seen[1] += 1,
                more => panic!("{rule} {key}: {more} are admitted"),
            }
        }
        assert!(seen.iter().all(|seen| *seen > 0), "{rule}: {seen:?}");
    }
}

/// A process with a clock of its own, which is lent one unit: the second item denies, and the first was charged already.
struct Borrower {
    world: World,
    key: String,
    clock: ManualClock,
    limiter: RateLimiter,
}

impl Borrower {
    fn start() -> Self {
        let world = World::start();
        let key = world.key_of("all", 1);
        let clock = ManualClock::new(43_200_000_000);
        let limiter = world.builder(0, RULES).clock(clock.clone()).build().unwrap();
        assert_eq!(admitted(&limiter, "near", "k", 11), 10);
        let denied = limiter.check_all(&[Check::new("near", "k"), Check::new("all", &key)]).unwrap();
        assert_eq!((denied.allowed, denied.rule.as_str()), (false, "near"));
        // A loan is longer than an allotment without any.
        soon(|| world.names(0, "*:lent-*").iter().any(|name| world.length(0, name) > 104));
        Self { world, key, clock, limiter }
    }

    fn check(&self) -> Decision {
        self.limiter.check("all", &self.key).unwrap()
    }

    /// What was granted, spent, given back and lost.
    fn loans(&self) -> [u64; 4] {
        let loans = self.limiter.metrics().rules["all"].loans;
        [loans.granted, loans.spent, loans.given_back, loans.lost]
    }
}

#[test]
fn a_near_clock_that_steps_back_prolongs_an_allotment_by_the_step() {
    let ms = Duration::from_millis;
    for (rest, source) in [(1_490, Source::Allotment), (1_510, Source::Server)] {
        let borrower = Borrower::start();
        let clock = &borrower.clock;
        // It lasts two seconds: after 1.9 the clock steps back by 1.5.
        clock.advance(ms(2_000 - 10));
        clock.set_us(clock.now_us() - 1_500_000);
        clock.advance(ms(rest + 10));
        let decision = borrower.check();
        assert_eq!((decision.allowed, decision.source), (true, source), "{rest} ms later");
        let is_spent = u64::from(source == Source::Allotment);
        soon(|| borrower.loans() == [1, is_spent, 1 - is_spent, 0]);
    }
}

/// Where the region in charge is away when they end, they are not given back.
#[test]
fn units_that_cannot_be_given_back_are_told_as_lost() {
    let borrower = Borrower::start();
    borrower.world.servers[1].kill();
    borrower.clock.advance(Duration::from_millis(2_001));
    assert_eq!(borrower.check().source, Source::Share);
    soon(|| borrower.loans() == [1, 0, 0, 1]);
}
