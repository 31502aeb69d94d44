//! Processor time: of this process, and of servers.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

use crate::Result;

pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Of other processes together: proc_pid_stat(5), `utime` and `stime`.
pub(crate) fn processor_time_of(pids: &[u32]) -> Result<Duration> {
    let mut ticks = 0;
    for pid in pids {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name, in brackets, may have spaces.
        let (_, fields) = stat.rsplit_once(')').ok_or("a process has a name")?;
        for time in fields.split_whitespace().skip(11).take(2) {
            ticks += time.parse::<u64>()?;
        }
    }
    Ok(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}
