//! The scheduler against a model that is too simple to be wrong: a list of agents, walked from the front.

use super::{Key, Scheduler, SchedulerError, Standing};
use crate::id::AgentId;

fn id(n: u64) -> AgentId {
    AgentId::nth(n)
}

fn ids(ns: &[u64]) -> Vec<AgentId> {
    ns.iter().copied().map(id).collect()
}

#[test]
fn slots_go_first_come_first_served_and_a_blocked_agent_comes_before_the_new() {
    let mut slots = Scheduler::new(1);
    assert_eq!(slots.acquire(&id(1), None), Ok(ids(&[1])));
    for n in 2..=4 {
        assert_eq!(slots.acquire(&id(n), None), Ok(vec![]));
    }
    assert_eq!(slots.block(&id(1)), Ok(ids(&[2])));
    assert_eq!(slots.standing(&id(1)), Some(Standing::Blocked));
    // It resumes only once its condition is met, however many slots are free before then.
    assert_eq!(slots.wake(&id(1)), Ok(vec![]));
    assert_eq!(slots.end(&id(2)), Ok(ids(&[1])));
    assert_eq!(slots.end(&id(1)), Ok(ids(&[3])));
    assert_eq!(slots.end(&id(4)), Ok(vec![]));
    assert_eq!(slots.end(&id(3)), Ok(vec![]));
    assert!(slots.is_empty());
}

#[test]
fn a_key_is_held_only_while_its_holder_runs_and_its_waiters_are_passed_over() {
    let key = || Some(Key::new("one"));
    let mut slots = Scheduler::new(2);
    assert_eq!(slots.acquire(&id(1), key()), Ok(ids(&[1])));
    assert_eq!(slots.acquire(&id(2), key()), Ok(vec![]));
    assert_eq!(slots.acquire(&id(3), None), Ok(ids(&[3])));
    // The holder blocks: the next takes the key, and the first has to wait for it when it is woken.
    assert_eq!(slots.block(&id(1)), Ok(ids(&[2])));
    assert_eq!(slots.wake(&id(1)), Ok(vec![]));
    assert_eq!(slots.end(&id(3)), Ok(vec![]), "a free slot is no use while the key is taken");
    assert_eq!(slots.end(&id(2)), Ok(ids(&[1])));
    assert_eq!(slots.end(&id(1)), Ok(vec![]));
    assert!(slots.keys.is_empty(), "no key is kept for nobody");
}

#[test]
fn who_changes_its_key_holds_nothing_while_it_waits_and_comes_before_the_new() {
    let key = |name: &str| Some(Key::new(name));
    let mut slots = Scheduler::new(2);
    assert_eq!(slots.acquire(&id(1), key("one")), Ok(ids(&[1])));
    assert_eq!(slots.acquire(&id(2), key("two")), Ok(ids(&[2])));
    assert_eq!(slots.acquire(&id(3), key("one")), Ok(vec![]));
    assert_eq!(slots.acquire(&id(4), None), Ok(vec![]));
    // Its new key is taken: its slot and its old key go to the next.
    assert_eq!(slots.change_key(&id(1), key("two")), Ok(ids(&[3])));
    assert_eq!(slots.standing(&id(1)), Some(Standing::Queued));
    assert_eq!(slots.change_key(&id(1), None), Err(SchedulerError::Standing(Standing::Queued)));
    assert_eq!(slots.end(&id(2)), Ok(ids(&[1])), "it goes before the one that has not started");
    // Without a new key it keeps its slot; what it had stays with it.
    assert_eq!(slots.change_key(&id(1), key("two")), Ok(vec![]));
    assert_eq!(slots.change_key(&id(1), None), Ok(vec![]));
    assert_eq!(slots.standing(&id(1)), Some(Standing::Running));
    // A free key and no slot but its own: it goes on at once.
    assert_eq!(slots.change_key(&id(1), key("two")), Ok(ids(&[1])));
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut slots = Scheduler::new(1);
    assert_eq!(slots.end(&id(1)), Err(SchedulerError::Unknown));
    slots.acquire(&id(1), None).unwrap();
    slots.acquire(&id(2), None).unwrap();
    assert_eq!(slots.acquire(&id(1), None), Err(SchedulerError::Known));
    assert_eq!(slots.wake(&id(1)), Err(SchedulerError::Standing(Standing::Running)));
    assert_eq!(slots.block(&id(2)), Err(SchedulerError::Standing(Standing::Queued)));
    assert_eq!((slots.running(), slots.len(), slots.cap()), (1, 2, 1));
}

/// Everyone who has a place, in no order but that of their places.
#[derive(Default)]
struct Naive {
    cap: usize,
    tickets: u64,
    agents: Vec<Waiter>,
}

#[derive(Clone, Debug)]
struct Waiter {
    agent: AgentId,
    key: Option<Key>,
    standing: Standing,
    /// 0 for one that ran before, 1 for a new one; then the order of asking.
    place: (u8, u64),
}

impl Naive {
    fn find(&mut self, agent: &AgentId) -> Option<&mut Waiter> {
        self.agents.iter_mut().find(|waiter| waiter.agent == *agent)
    }

    fn acquire(&mut self, agent: &AgentId, key: Option<Key>) -> Vec<AgentId> {
        self.tickets += 1;
        let place = (1, self.tickets);
        self.agents.push(Waiter { agent: agent.clone(), key, standing: Standing::Queued, place });
        self.grant()
    }

    fn block(&mut self, agent: &AgentId) -> Vec<AgentId> {
        self.find(agent).unwrap().standing = Standing::Blocked;
        self.grant()
    }

    fn wake(&mut self, agent: &AgentId) -> Vec<AgentId> {
        self.tickets += 1;
        let place = (0, self.tickets);
        let waiter = self.find(agent).unwrap();
        (waiter.standing, waiter.place) = (Standing::Queued, place);
        self.grant()
    }

    fn change_key(&mut self, agent: &AgentId, key: Option<Key>) -> Vec<AgentId> {
        self.tickets += 1;
        let place = (0, self.tickets);
        let waiter = self.find(agent).unwrap();
        if waiter.key != key && key.is_some() {
            (waiter.standing, waiter.place) = (Standing::Queued, place);
        }
        waiter.key = key;
        self.grant()
    }

    fn end(&mut self, agent: &AgentId) -> Vec<AgentId> {
        self.agents.retain(|waiter| waiter.agent != *agent);
        self.grant()
    }

    fn grant(&mut self) -> Vec<AgentId> {
        let mut granted = Vec::new();
        loop {
            let running: Vec<&Waiter> =
                self.agents.iter().filter(|waiter| waiter.standing == Standing::Running).collect();
            if running.len() >= self.cap {
                return granted;
            }
            let taken: Vec<Key> = running.iter().filter_map(|waiter| waiter.key.clone()).collect();
            let next = self
                .agents
                .iter_mut()
                .filter(|waiter| waiter.standing == Standing::Queued)
                .filter(|waiter| waiter.key.as_ref().is_none_or(|key| !taken.contains(key)))
                .min_by_key(|waiter| waiter.place);
            let Some(next) = next else { return granted };
            next.standing = Standing::Running;
            granted.push(next.agent.clone());
        }
    }
}

/// A million operations, some of which make no sense, in rounds of different caps and crowds. After each, both
/// let the same agents in; the cap holds, no key is held twice, and nobody who could run waits.
#[test]
fn a_million_operations_agree_with_the_naive_model() {
    const ROUNDS: u64 = 200;
    const OPERATIONS: u64 = 5_000;
    for round in 0..ROUNDS {
        let mut dice = Dice(round * 2 + 1);
        let cap = 1 + dice.below(7) as usize;
        let crowd = 1 + dice.below(24);
        let keys = dice.below(4);
        let mut slots = Scheduler::new(cap);
        let mut naive = Naive { cap, ..Naive::default() };
        for _ in 0..OPERATIONS {
            let agent = id(1 + dice.below(crowd));
            let standing = naive.find(&agent).map(|waiter| waiter.standing);
            assert_eq!(slots.standing(&agent), standing);
            let has_key = keys > 0 && dice.below(2) == 0;
            let key = has_key.then(|| Key::new(format!("k{}", dice.below(keys))));
            let (answer, expected) = match dice.below(5) {
                0 => {
                    let expected = standing.is_none().then(|| naive.acquire(&agent, key.clone()));
                    (slots.acquire(&agent, key), expected)
                }
                1 => {
                    let expected = (standing == Some(Standing::Running)).then(|| naive.block(&agent));
                    (slots.block(&agent), expected)
                }
                2 => {
                    let expected = (standing == Some(Standing::Blocked)).then(|| naive.wake(&agent));
                    (slots.wake(&agent), expected)
                }
                3 => {
                    let is_running = standing == Some(Standing::Running);
                    let expected = is_running.then(|| naive.change_key(&agent, key.clone()));
                    (slots.change_key(&agent, key), expected)
                }
                // Fewer ends than beginnings, so that queues grow.
                _ if dice.below(2) == 0 => {
                    let expected = standing.is_some().then(|| naive.end(&agent));
                    (slots.end(&agent), expected)
                }
                _ => continue,
            };
            assert_eq!(answer.ok(), expected);
            check(&slots, &naive);
        }
        for n in 1..=crowd {
            let _ = slots.end(&id(n));
        }
        assert!(slots.is_empty() && slots.running() == 0, "a slot leaked");
        assert!(slots.ready.is_empty() && slots.keys.is_empty(), "a key or a place leaked");
    }
}

fn check(slots: &Scheduler, naive: &Naive) {
    let running: Vec<&Waiter> =
        naive.agents.iter().filter(|waiter| waiter.standing == Standing::Running).collect();
    assert_eq!(slots.running(), running.len());
    assert!(running.len() <= slots.cap());
    let mut held: Vec<&Key> = running.iter().filter_map(|waiter| waiter.key.as_ref()).collect();
    let count = held.len();
    held.sort();
    held.dedup();
    assert_eq!(held.len(), count, "a key is held twice");
    assert_eq!(slots.len(), naive.agents.len());
}

/// Numbers that only look random, so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
