"""One set of verbs, several engines: clear (the oracle), trace (demand and cost), two_party."""
