"""What coding assistants call: the hook after a change, and the server of their questions."""
