"""Where the blocks of a job are scored: in this process, or in several."""
