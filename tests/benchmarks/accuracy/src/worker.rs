//! One of the processes that share a limit. It carries out the commands that it reads, one a line, and prints the result of each:
//!
//! - `paced START MS RATE`: from the time START, in milliseconds since 1970, so many checks a second for MS milliseconds. Answers how
//!   many there were, and of those that were admitted how many began, and ended, in each millisecond.
//! - `full MS`: as many checks as it can, 64 at once. Answers how many, and the microseconds of processor time.

use std::cell::RefCell;
use std::io::{BufRead, stdin};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::{LocalSet, yield_now};
use tokio::time::sleep;

use crate::Result;
use crate::contender::Contender;

const IN_FLIGHT: usize = 64;
/// So many wait for the server at most.
const MOST_WAITING: usize = 2_000;

pub(crate) fn run(name: &str, url: &str, ports: &[String], number: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let contender = Rc::new(Contender::connect(name, url, ports, number).await?);
        println!("ready");
        for line in stdin().lock().lines() {
            let line = line?;
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                ["paced", start, ms, rate] => {
                    paced(&contender, start.parse()?, ms.parse()?, rate.parse()?).await?
                }
                ["full", ms] => full(&contender, ms.parse()?).await?,
                _ => return Err(format!("unknown line: {line}").into()),
            }
        }
        Ok(())
    })
}

fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3
}

#[derive(Default)]
struct Counts {
    checks: usize,
    waiting: usize,
    begun: Vec<u32>,
    ended: Vec<u32>,
    failed: Option<String>,
}

impl Counts {
    fn end(&mut self, began: usize, ended: usize, answer: Result<bool>) {
        self.waiting -= 1;
        match answer {
            Ok(true) if ended < self.ended.len() => {
                self.begun[began] += 1;
                self.ended[ended] += 1;
            }
            Ok(_) => {}
            Err(error) => self.failed = Some(error.to_string()),
        }
    }
}

async fn paced(contender: &Rc<Contender>, start: f64, ms: usize, rate: f64) -> Result<()> {
    let counts = Counts { begun: vec![0; ms], ended: vec![0; ms], ..Counts::default() };
    let counts = Rc::new(RefCell::new(counts));
    let passed = move || now_ms() - start;
    while passed() < ms as f64 {
        let due = (passed().max(0.0) * rate / 1e3) as usize;
        while counts.borrow().checks < due && counts.borrow().waiting < MOST_WAITING {
            counts.borrow_mut().checks += 1;
            counts.borrow_mut().waiting += 1;
            let (contender, counts) = (Rc::clone(contender), Rc::clone(&counts));
            tokio::task::spawn_local(async move {
                let began = (passed() as usize).min(ms - 1);
                let answer = contender.check().await;
                counts.borrow_mut().end(began, passed() as usize, answer);
            });
        }
        sleep(Duration::from_millis(1)).await;
    }
    while counts.borrow().waiting > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    let counts = counts.borrow();
    if let Some(error) = &counts.failed {
        return Err(error.clone().into());
    }
    let listed = |counts: &[u32]| counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    println!("{} {} {}", counts.checks, listed(&counts.begun), listed(&counts.ended));
    Ok(())
}

async fn full(contender: &Rc<Contender>, ms: u64) -> Result<()> {
    let (began, until) = (processor_us(), Instant::now() + Duration::from_millis(ms));
    let caller = || {
        let contender = Rc::clone(contender);
        tokio::task::spawn_local(async move {
            let mut checks = 0_u64;
            while Instant::now() < until {
                contender.check().await.map_err(|error| error.to_string())?;
                checks += 1;
                if checks.is_multiple_of(256) {
                    // What decides in memory never waits.
                    yield_now().await;
                }
            }
            Ok::<_, String>(checks)
        })
    };
    let callers: Vec<_> = (0..IN_FLIGHT).map(|_| caller()).collect();
    let mut checks = 0;
    for caller in callers {
        checks += caller.await??;
    }
    println!("{checks} {}", processor_us() - began);
    Ok(())
}

fn processor_us() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}
