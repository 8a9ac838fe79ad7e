//! Modules and who holds them. At the end of each step, and so at every instant on disk, a module has a holder or is
//! a profile's.

use super::Writer;
use crate::{error::StoreError, queries::signed, records::ModuleRecord};
use gg_core::{AgentId, ModuleId};
use rusqlite::params;

/// The modules of a step whose holders are looked at when it ends.
#[derive(Default)]
pub(super) struct Modules {
    new: Vec<ModuleId>,
    let_go: Vec<ModuleId>,
}

impl Writer {
    pub(super) fn write_module(
        &self,
        module: &ModuleRecord,
        digest: Option<String>,
        modules: &mut Modules,
    ) -> Result<(), StoreError> {
        let id = signed(module.id.0);
        let profile = module.profile.as_ref().map(|profile| profile.as_str());
        let (component, format) = (&module.component_sha256, &module.state_format);
        let state = module.state.as_deref();
        let sql = "UPDATE modules SET component_sha256 = ?4, state_format = ?5, state = ?6, state_sha256 = ?7 \
                   WHERE id = ?1 AND kind = ?2 AND profile IS ?3";
        let values = params![id, module.kind, profile, component, format, state, digest];
        if self.execute(sql, values)? > 0 {
            return Ok(());
        }
        let sql = "INSERT INTO modules (id, kind, profile, component_sha256, state_format, state, state_sha256) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
        let values = params![id, module.kind, profile, component, format, state, digest];
        if self.execute(sql, values)? == 0 {
            return Err(StoreError::Conflict(format!(
                "module {} is recorded as one of another kind or profile",
                module.id
            )));
        }
        modules.new.push(module.id);
        Ok(())
    }

    pub(super) fn hold(&self, agent: &AgentId, module: ModuleId) -> Result<(), StoreError> {
        let id = signed(module.0);
        let sql = "INSERT INTO holds (agent, kind, module) SELECT ?1, kind, id FROM modules WHERE id = ?2 \
                   ON CONFLICT DO NOTHING";
        if self.execute(sql, params![agent.as_str(), id])? > 0 {
            return Ok(());
        }
        let kind: Option<String> =
            self.query("SELECT kind FROM modules WHERE id = ?1", [id], |row| row.get(0))?;
        Err(StoreError::Conflict(match kind {
            Some(kind) => {
                format!("{agent} holds a module {kind} already, and so cannot hold module {module}")
            }
            None => format!("there is no module {module} for {agent} to hold"),
        }))
    }

    pub(super) fn let_go(
        &self,
        agent: &AgentId,
        module: ModuleId,
        modules: &mut Modules,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM holds WHERE agent = ?1 AND module = ?2";
        match self.execute(sql, params![agent.as_str(), signed(module.0)])? {
            0 => Err(StoreError::Conflict(format!("{agent} holds no module {module} to let go of"))),
            _ => {
                modules.let_go.push(module);
                Ok(())
            }
        }
    }

    /// Deletes the modules that nobody holds any more, and refuses new ones that nobody ever held.
    pub(super) fn settle_modules(&self, modules: &Modules) -> Result<(), StoreError> {
        for module in &modules.let_go {
            let sql = "DELETE FROM modules WHERE id = ?1 AND profile IS NULL \
                       AND NOT EXISTS (SELECT 1 FROM holds WHERE module = ?1)";
            self.execute(sql, [signed(module.0)])?;
        }
        for module in &modules.new {
            let sql = "SELECT 1 FROM modules WHERE id = ?1 AND profile IS NULL \
                       AND NOT EXISTS (SELECT 1 FROM holds WHERE module = ?1)";
            if self.query(sql, [signed(module.0)], |_| Ok(()))?.is_some() {
                return Err(StoreError::Conflict(format!("nobody holds the new module {module}")));
            }
        }
        Ok(())
    }
}
