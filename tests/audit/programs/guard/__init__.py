"""The guard of real programs: what an audit says of each of them is read, judged and pinned."""
