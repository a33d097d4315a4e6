"""Questions that several rules ask of what the interpreter has noted down."""
