//! The server as a whole, on a port of its own.
