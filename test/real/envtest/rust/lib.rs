//! Nothing but a test: see tests/.
