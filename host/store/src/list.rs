//! What runs there are, and how they stand.

use crate::{
    error::StoreError,
    folder::{self, RunFolder},
    queries::Queries,
    reader::{MAX_PAGE, RunReader},
    records::StartedRun,
};
use gg_core::{Cost, Ending, Event, RunId, Seq, Usage};
use std::path::{Path, PathBuf};

/// How a run stands.
#[derive(Clone, Debug, PartialEq)]
pub enum RunStatus {
    /// A process works on it.
    Running,
    /// It ended.
    Ended {
        /// How its root ended.
        ending: Ending,
        /// How long it took.
        elapsed_ms: u64,
    },
    /// It did not end, and no process works on it.
    Interrupted,
}

/// What a list of runs says of one.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// What was recorded when it was made.
    pub started: StartedRun,
    /// How it stands.
    pub status: RunStatus,
    /// How many agents it had so far. One that became another counts once.
    pub agents: u64,
    /// The number of its last event.
    pub last_seq: Seq,
    /// The tokens of all its requests so far.
    pub usage: Usage,
    /// What those cost, as far as the configuration names prices; absent where it names none.
    pub cost: Option<Cost>,
}

/// One directory of a runs folder.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The run's name: that of its directory.
    pub id: RunId,
    /// Its directory.
    pub dir: PathBuf,
    /// What is known of it, or why it cannot be read.
    pub summary: Result<RunSummary, StoreError>,
}

/// The newest runs in `runs_dir`, newest first: at most `newest` of them. One that cannot be read is listed
/// with the reason; one that is only just being made is not listed. A folder that does not exist holds none.
///
/// # Errors
/// [`StoreError::Io`] if the folder itself cannot be read.
pub fn list_runs(runs_dir: &Path, newest: usize) -> Result<Vec<Listed>, StoreError> {
    let names = folder::run_names(runs_dir)?;
    let listed = names.into_iter().filter_map(|name| {
        let dir = runs_dir.join(&name);
        match RunReader::open(&dir).and_then(|reader| reader.summary()) {
            Err(StoreError::NotARun { .. }) if is_being_made(&dir) => None,
            summary => Some(Listed { id: RunId::new(name), dir, summary }),
        }
    });
    Ok(listed.take(newest).collect())
}

/// Whether a process holds what is not a run yet: it has not written the first things.
fn is_being_made(dir: &Path) -> bool {
    RunFolder::at(dir).is_owned().unwrap_or(false)
}

impl RunStatus {
    /// Reads how the run stands. The owner is looked for first: once a run has none, its record is final.
    pub(crate) fn read(folder: &RunFolder, queries: Queries<'_>) -> Result<Self, StoreError> {
        let owned = folder.is_owned()?;
        let last = queries.last_event()?.map(|last| last.event);
        Ok(match last {
            Some(Event::RunEnded { ending, elapsed_ms, .. }) => Self::Ended { ending, elapsed_ms },
            _ if owned => Self::Running,
            _ => Self::Interrupted,
        })
    }
}

impl RunSummary {
    pub(crate) fn read(
        folder: &RunFolder,
        queries: Queries<'_>,
        started: StartedRun,
    ) -> Result<Self, StoreError> {
        let status = RunStatus::read(folder, queries)?;
        let last = queries.last_event()?;
        let mut summary = Self {
            started,
            status,
            agents: queries.agent_count()?,
            last_seq: last.as_ref().map_or(Seq(0), |last| last.seq),
            usage: Usage::default(),
            cost: None,
        };
        match last.map(|last| last.event) {
            Some(Event::RunEnded { profiles, .. }) => {
                for profile in profiles {
                    summary.add(profile.usage, profile.cost);
                }
            }
            _ => summary.add_usage_events(queries)?,
        }
        Ok(summary)
    }

    fn add_usage_events(&mut self, queries: Queries<'_>) -> Result<(), StoreError> {
        let mut after = Seq(0);
        loop {
            let page = queries.usage_events(after, MAX_PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for recorded in page {
                if let Event::Usage { usage, cost, .. } = recorded.event {
                    self.add(usage, cost);
                }
            }
        }
    }

    fn add(&mut self, usage: Usage, cost: Option<Cost>) {
        self.usage += usage;
        if let Some(Cost(more)) = cost {
            self.cost = Some(Cost(self.cost.map_or(0.0, |Cost(sum)| sum) + more));
        }
    }
}
