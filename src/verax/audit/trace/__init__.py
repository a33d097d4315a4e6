"""From a function and example inputs to facts about every value that it computes."""
