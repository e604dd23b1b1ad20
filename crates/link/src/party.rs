//! Who is who.

/// One of the two parties. The server owns the weights, the client the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// Party 0: owns the weights; adds public constants to its share.
    Server,
    /// Party 1: owns the input and receives the answer.
    Client,
}

impl Party {
    /// True for the party that adds public constants.
    pub const fn is_server(self) -> bool {
        matches!(self, Self::Server)
    }

    /// The other one.
    pub const fn peer(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }

    /// The direction of a message that this party sends.
    pub const fn sends(self) -> Direction {
        match self {
            Self::Server => Direction::ToClient,
            Self::Client => Direction::ToServer,
        }
    }

    /// The direction of a message that this party receives.
    pub const fn receives(self) -> Direction {
        self.peer().sends()
    }
}

/// Which way a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Server to client.
    ToClient,
    /// Client to server.
    ToServer,
}
