"""From a signature back to what it says, and to the command that makes its number again."""
