//! Model clients over HTTP, and the scripted and replay models.
