//! The demand and the declared cost of a window of a program.

use crate::Need;
use degreespar_link::Schedule;

/// What every primitive declares from its public shape alone.
pub trait Primitive {
    /// The correlations that `run` takes, in order.
    fn needs(&self) -> Vec<Need>;
    /// The messages of `run`, exactly.
    fn schedule(&self) -> Schedule;
}

/// The needs and the messages of several steps, one after another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    needs: Vec<Need>,
    schedule: Schedule,
}

impl Plan {
    /// Adds the next step.
    pub fn add(&mut self, step: &dyn Primitive) {
        self.needs.extend(step.needs());
        self.schedule = std::mem::take(&mut self.schedule).then(step.schedule());
    }

    /// All correlations, in the order in which they are used.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// All messages of the answer phase.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}
