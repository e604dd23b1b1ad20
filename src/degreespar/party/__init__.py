"""Server and client: identities, handshake, pictures, and a run from connection to answer."""
